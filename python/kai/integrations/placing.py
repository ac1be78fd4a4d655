"""On which object each setting was written: `Built.placement` (spec 7 B4)."""

from __future__ import annotations

from kai.settings import PodPart


def placement(
    part: PodPart, *, pod: str, owner: str | None = None, container: str | None = None
) -> dict[str, str]:
    """Of a builder that writes all there is of a part, by what it calls these objects.

    owner: the workload that owns the pod; None: nobody does, and the pod has the owner's keys too.
    """
    metadata = part.metadata(owns_itself=owner is None)
    placed = {key: pod for group in metadata.values() for key in group}
    if owner is not None:
        for key in (*part.owner_labels, *part.owner_annotations):
            placed[key] = f"{owner} and {pod}" if key in placed else owner
    placed |= dict.fromkeys(part.spec(), pod)
    where = f"container {container}" if container is not None else f"main container of the {pod}"
    return placed | dict.fromkeys(part.container_fields(), where)
