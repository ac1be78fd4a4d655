"""An API server in this process, and clocks: tests of the client wait for nothing."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
