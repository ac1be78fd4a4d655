"""One builder per orchestrator: what to write there so that its pods ask KAI for what is meant.

>>> import kai
>>> from kai.integrations import zenml
>>> built = zenml.build(kai.PodRequest(queue="test", gpu_fraction=0.5), as_native=False)
>>> built["pod_settings"]["annotations"]["gpu-fraction"]
'0.5'

Each module has ``build(request, *, as_native=None, strict=False, **options)``, which returns a
`kai.settings.Built`: the settings as plain values and, where the orchestrator's library is there,
as its own objects; what it cannot express and what to do instead; manifests an administrator has to
apply once. Importing kai, or this package, imports no orchestrator.
"""

from kai.integrations.facade import PodSettings, pod_settings
from kai.integrations.registry import ORCHESTRATORS, builder_for

__all__ = ["ORCHESTRATORS", "PodSettings", "builder_for", "pod_settings"]
