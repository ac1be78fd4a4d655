"""Public traces: in the folder KAI_DATA, or in ../shared/data beside the checkout."""

import os
from pathlib import Path

os.environ.setdefault("KAI_DATA", str(Path(__file__).parents[3].parent / "shared" / "data"))
