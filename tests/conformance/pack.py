"""Packs recorded cases into the archives that the checkout carries.

    .venv/bin/python tests/conformance/pack.py path/to/conformance

The clusters and questions go into one archive, the recordings of the control plane into another.

Equal files give equal bytes: members are sorted, dated 1980, and have no owner.
"""

import io
import lzma
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path

from kai.verify.cases import ARCHIVE, FOLDERS

EPOCH = 315532800  # 1980-01-01, the earliest date in every archive format
TARGETS = {
    Path("tests/conformance") / ARCHIVE: (*FOLDERS, "tables"),
    Path("tests/conformance/control-plane.tar.xz"): ("control-plane",),
}


def pack(source: Path, folders: Sequence[str] = (*FOLDERS, "tables")) -> bytes:
    """The archive of these folders below a directory."""
    files = sorted(
        file for folder in folders for file in (source / folder).rglob("*.json") if file.is_file()
    )
    if not files:
        raise FileNotFoundError(f"{source}: no recorded cases below this directory")
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for file in files:
            member = tarfile.TarInfo(file.relative_to(source).as_posix())
            content = file.read_bytes()
            member.size, member.mtime, member.mode = len(content), EPOCH, 0o644
            archive.addfile(member, io.BytesIO(content))
    return lzma.compress(plain.getvalue(), preset=9 | lzma.PRESET_EXTREME)


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    for target, folders in TARGETS.items():
        try:
            data = pack(Path(arguments[0]), folders)
            target.write_bytes(data)
        except OSError as error:
            print(f"pack.py: {error}", file=sys.stderr)
            return 2
        print(f"{target}: {len(data):,} bytes")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
