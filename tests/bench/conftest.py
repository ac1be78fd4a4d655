"""Lets the tests here import the modules beside them, and looks for public traces beside the tree.

KAI_DATA names their folder; unless it does, they are looked for in ../shared/data.
"""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
os.environ.setdefault("KAI_DATA", str(Path(__file__).parents[2].parent / "shared" / "data"))
