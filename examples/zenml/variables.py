"""The variables of the Terraform module that follow from settings.py."""

from __future__ import annotations

import json
from pathlib import Path

from settings import HALF_A_T4

from kai import terraform
from kai.integrations import zenml

FILE = Path(__file__).parent / "terraform" / "kai.auto.tfvars.json"


def text() -> str:
    values = {
        **terraform.variables(HALF_A_T4),
        "pod_settings": zenml.terraform_pod_settings(HALF_A_T4),
    }
    return json.dumps(values, indent=2) + "\n"


def write() -> None:
    FILE.write_text(text(), encoding="utf-8")
    print(f"wrote {FILE}")
