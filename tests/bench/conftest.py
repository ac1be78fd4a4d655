"""Makes the modules of this folder importable for its tests, and finds the public traces.

KAI_DATA names the folder of the traces; the default is ../shared/data.
"""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
os.environ.setdefault("KAI_DATA", str(Path(__file__).parents[2].parent / "shared" / "data"))
