"""For Terraform's ZenML provider, which takes texts (spec 7 section 23)."""

from __future__ import annotations

import json
from typing import Any

from kai.integrations.zenml.helpers import component_settings
from kai.settings import PodRequest, rules


def terraform_pod_settings(request: PodRequest, **options: Any) -> str:
    """`pod_settings` of the orchestrator's configuration: JSON, without GPU keys (TF1)."""
    settings = component_settings(request, **options)
    return json.dumps(settings["pod_settings"], indent=2, sort_keys=True)


def terraform_variables(request: PodRequest) -> dict[str, str]:
    """The three variables of a KAI stack, as texts; "" is none (TF4)."""
    if request.gpu_kind not in ("none", "fraction"):
        raise rules.refuse(
            "the variable gpu_fraction holds a fraction: write gpu_fraction= in the request"
        )
    return {
        "gpu_fraction": str(request.gpu_fraction or ""),
        "kai_scheduler_queue": request.queue or "",
        "gpu_type": request.gpu_type or "",
    }
