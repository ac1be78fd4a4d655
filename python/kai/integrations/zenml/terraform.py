"""For Terraform's ZenML provider, which takes texts."""

from __future__ import annotations

import json
from typing import Any

from kai.integrations.zenml.helpers import component_settings
from kai.settings import PodRequest


def terraform_pod_settings(request: PodRequest, **options: Any) -> str:
    """`pod_settings` of the orchestrator's configuration: JSON, without GPU keys (spec 7 TF1).

    Raises InvalidRequestError as `build` does.
    """
    settings = component_settings(request, **options)
    return json.dumps(settings["pod_settings"], indent=2, sort_keys=True)
