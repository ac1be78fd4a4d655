"""Lets the tests here take modules beside them, and make clusters with tests/bench/generate.py."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "bench")]
