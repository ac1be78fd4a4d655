"""Variables for Terraform modules that create a stack with KAI.

>>> import kai
>>> kai.terraform.variables(kai.PodRequest(queue="test", gpu_fraction=0.5))
{'gpu_fraction': '0.5', 'kai_scheduler_queue': 'test', 'gpu_type': ''}

For the other settings of a ZenML stack: `kai.integrations.zenml.terraform_pod_settings`.
"""

from __future__ import annotations

from kai.api import rules
from kai.settings import PodRequest


def variables(request: PodRequest) -> dict[str, str]:
    """The three variables of a KAI stack, as strings; "" means unset.

    Raises InvalidRequestError for a GPU request that is not a fraction.
    """
    if request.gpu_kind not in ("none", "fraction"):
        raise rules.refuse(
            "the variable gpu_fraction needs a fraction: write gpu_fraction= in the request"
        )
    return {
        "gpu_fraction": str(request.gpu_fraction or ""),
        "kai_scheduler_queue": request.queue or "",
        "gpu_type": request.gpu_type or "",
    }
