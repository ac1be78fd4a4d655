"""Lets the tests here import the modules beside them: pack, tables, kai_questions."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
