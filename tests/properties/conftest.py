"""Lets the tests here make clusters with tests/bench/generate.py."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))
