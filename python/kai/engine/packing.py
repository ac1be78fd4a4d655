"""The archive of a snapshot: objects in KAI's format, and the memory of a scheduler.

data = pack([snapshot_json])
data = pack([start, *objects, end], memory=scheduler.export_memory(cluster))

Only kai reads `memory.json`: assumptions and promises, in the format of
`kai.Scheduler.export_memory`, and `now`, the time when they were true.
"""

from __future__ import annotations

import io
from collections.abc import Iterable

SNAPSHOT, MEMORY = "snapshot.json", "memory.json"


def pack(snapshot: Iterable[bytes], memory: str | None = None) -> bytes:
    """A zip archive of a snapshot.json, given in pieces. Equal pieces give equal bytes."""
    import zipfile

    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        entry = zipfile.ZipInfo(SNAPSHOT)  # its date is always 1980
        entry.compress_type = zipfile.ZIP_DEFLATED
        with archive.open(entry, "w") as file:
            for piece in snapshot:
                file.write(piece)
        if memory is not None:
            archive.writestr(zipfile.ZipInfo(MEMORY), memory, zipfile.ZIP_DEFLATED)
    return packed.getvalue()
