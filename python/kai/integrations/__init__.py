"""One builder per orchestrator: its settings that give pods the right KAI request.

>>> import kai
>>> from kai.integrations import zenml
>>> built = zenml.build(kai.PodRequest(queue="test", gpu_fraction=0.5), as_native=False)
>>> built["pod_settings"]["annotations"]["gpu-fraction"]
'0.5'

Each module has ``build(request, *, as_native=None, strict=False, **options)``, which returns a
`kai.settings.Built`. It has the settings as plain values and, if the orchestrator's library is
installed, as its own objects; the settings that it cannot express, with workarounds; and manifests
that an administrator must apply once. Importing kai or this package imports no orchestrator.
"""

from kai.integrations.facade import PodSettings, pod_settings
from kai.integrations.registry import ORCHESTRATORS, builder_for

__all__ = ["ORCHESTRATORS", "PodSettings", "builder_for", "pod_settings"]
