"""KAI's own Helm chart, which is no part of this repository: KAI_CHART names its folder
(docs/internals/cluster.md)."""

import os
from pathlib import Path

from .errors import ClusterError, UnavailableError

VARIABLE = "KAI_CHART"


def folder() -> Path:
    """The folder of the chart.

    Raises:
        UnavailableError: the variable is not set.
        ClusterError: the folder is not that of KAI's chart.
    """
    name = os.environ.get(VARIABLE)
    if not name:
        raise UnavailableError(f"{VARIABLE} does not name the folder of KAI's Helm chart")
    found = Path(name).absolute()
    if not (found / "crds/scheduling.run.ai_queues.yaml").exists():
        raise ClusterError(f"{VARIABLE}={name} is not the folder of KAI's Helm chart")
    return found
