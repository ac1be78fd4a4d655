"""``python -m kai`` is the command ``kai``."""

import sys

from kai.cli import main

if __name__ == "__main__":
    sys.exit(main())
