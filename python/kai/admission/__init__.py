"""What the API server, or KAI's webhook, does not let in, and what does not do what it seems to.

One table behind `kai lint`, which says all of it, `kai plan`, which leaves refused pods out with
the same sentence, and the settings, which refuse to be written so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kai.admission import gpus, shape
from kai.admission.finding import Finding
from kai.admission.pods import Pod, pods_in

__all__ = ["check", "refusals"]


def check(pod: Pod) -> Iterator[Finding]:
    """Of a pod by itself: its own metadata, its containers, and how it asks for GPUs."""
    own = {part: pod.metadata.get(part) for part in ("labels", "annotations")}
    yield from shape.check_texts(own, pod.metadata_at)
    yield from shape.check(pod)
    yield from gpus.check(pod)


def refusals(manifest: Mapping[str, Any], *, scheduler: str) -> Iterator[Finding]:
    """Why the pods of a manifest would not be let in.

    scheduler: what KAI's webhook refuses concerns its pods only, named so or not named at all.
    """
    for pod in pods_in(manifest):
        ours = pod.scheduler in (None, "", scheduler)
        for finding in check(pod) if ours else shape.check(pod):
            if finding.refused:
                yield finding
