"""The import contracts cover every package, so no new package is left out."""

import re
from configparser import ConfigParser
from pathlib import Path

import kai

PRODUCT = Path(kai.__file__).parent
CONTRACTS = ConfigParser()
CONTRACTS.read(PRODUCT.parents[1] / ".importlinter")


def names(contract: str, option: str) -> set[str]:
    listed = CONTRACTS[f"importlinter:contract:{contract}"][option]
    return {name.removeprefix("kai.") for name in re.findall(r"[\w.]+", listed)}


def test_every_package_is_in_one_wing_and_the_wings_are_independent() -> None:
    wings = {each: names(f"{each}-wing", "layers") for each in ("engine", "settings")}
    below_the_cli = names("house", "layers") - {"cli", "notebook", "admission", "api", "errors"}
    assert sorted([*wings["engine"], *wings["settings"]]) == sorted(below_the_cli)
    for own, other in (("engine", "settings"), ("settings", "engine")):
        contract = f"{own}-without-{other}"
        assert names(contract, "source_modules") == wings[own]
        assert names(contract, "forbidden_modules") == wings[other]


def test_cycles_are_searched_in_every_package() -> None:
    packages = {path.parent.name for path in PRODUCT.glob("*/__init__.py")}
    assert names("no-circles", "ancestors") == packages
