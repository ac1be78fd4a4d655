"""Writes the names of all functions that cuda.h and nvml.h declare, as strings of C, sorted, and
those of the driver's interfaces to profilers and graphics.

    python3 write_known.py INCLUDE_FOLDER... > known.inc

Of several folders with the same header, the first counts.
"""

import re
import sys
from pathlib import Path

DECLARED = re.compile(r"\b(?:CUresult CUDAAPI|nvmlReturn_t DECLDIR)\s+(\w+)\s*\(")
RENAMED = re.compile(r"^\s*#define (cu[A-Z]\w*)\s+(?:__CUDA_API_PT[SD][SZ]\()?(cu[A-Z]\w*)", re.M)
TYPED = re.compile(r"\bPFN_(cu[A-Z]\w*?)_v\d+(?:_ptsz|_ptds)?\)")


def names_in(text: str) -> set[str]:
    names = set(DECLARED.findall(text))
    for name, symbol in RENAMED.findall(text):
        names |= {name, symbol}
    of_threads = re.findall(r"__CUDA_API_PT(SZ|DS)\((\w+)\)", text)
    return names | {f"{name}_pt{kind.lower()}" for kind, name in of_threads if name != "api"}


# CUDA's runtime looks them up in each program.
WITHOUT_HEADER = {"cuSubgridCreate", "cuSubgridWorkerGridCreate", "cuSubgridWorksetCreate"}


def main() -> None:
    names: set[str] = set(WITHOUT_HEADER)
    for name in ("cuda.h", "nvml.h"):
        [header] = [each for folder in sys.argv[1:] if (each := Path(folder, name)).exists()][:1]
        names |= names_in(header.read_text(encoding="utf-8", errors="replace"))
    for folder in map(Path, sys.argv[1:]):
        for header in folder.glob("cuda*Typedefs.h"):
            names.update(TYPED.findall(header.read_text(encoding="utf-8", errors="replace")))
    for name in sorted(names):
        print(f'"{name}",')


if __name__ == "__main__":
    main()
