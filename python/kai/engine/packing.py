"""The archive of a snapshot: objects as KAI has them, and beside them what a scheduler remembers.

data = pack([snapshot_json])
data = pack([start, *objects, end], memory=scheduler.export_memory(cluster))

`memory.json` is ours, and other programs do not look at it: assumptions and promises, in the form
of `kai.Scheduler.export_memory`, and `now`, the time when they held.
"""

from __future__ import annotations

import io
from collections.abc import Iterable

SNAPSHOT, MEMORY = "snapshot.json", "memory.json"


def pack(snapshot: Iterable[bytes], memory: str | None = None) -> bytes:
    """A zip archive of a snapshot.json, given in pieces. Equal pieces make equal bytes."""
    import zipfile

    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        entry = zipfile.ZipInfo(SNAPSHOT)  # dated 1980
        entry.compress_type = zipfile.ZIP_DEFLATED
        with archive.open(entry, "w") as file:
            for piece in snapshot:
                file.write(piece)
        if memory is not None:
            archive.writestr(zipfile.ZipInfo(MEMORY), memory, zipfile.ZIP_DEFLATED)
    return packed.getvalue()
