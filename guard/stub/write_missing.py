"""Writes C++ for all functions of cuda.h that the pretended driver does not have: each answers
CUDA_ERROR_NOT_SUPPORTED.

    python3 write_missing.py driver.cc known.inc > missing.cc
"""

import re
import sys
from pathlib import Path

EXPORT = 'extern "C" __attribute__((visibility("default")))'


def main() -> None:
    source, known = (Path(each).read_text(encoding="utf-8") for each in sys.argv[1:3])
    written = set(re.findall(r"STUB_EXPORT CUresult\s+(\w+)\(", source))
    for name in re.findall(r'"(cu\w+)"', known):
        if name not in written:
            print(f"{EXPORT} int {name}() {{ return 801; }}")


if __name__ == "__main__":
    main()
