"""docs/reference/keys.md has every label and annotation that kai uses."""

from pathlib import Path

import pytest

from kai.api import keys
from kai.settings.platforms import PLATFORMS

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "keys.md"
KEYS = [
    value
    for name, value in vars(keys).items()
    if name.endswith(("_LABEL", "_ANNOTATION", "_LABEL_PREFIX")) and isinstance(value, str)
]
LABELS = [
    label
    for platform in PLATFORMS.values()
    for label in (platform.gpu_type_label, platform.pool_label)
    if label
]


@pytest.mark.parametrize("key", sorted({*KEYS, *LABELS}))
def test_the_page_has_every_key(key: str) -> None:
    assert f"`{key}`" in PAGE.read_text()
