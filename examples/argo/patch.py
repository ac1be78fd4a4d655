"""Requests half a GPU for the step `train` of workflow.yaml.

pip install ../../dist/kai_sched-*.whl    (README.md shows how to build it)
python patch.py | argo submit -
"""

import sys
from pathlib import Path

import yaml
from request import TRAIN

from kai.integrations import argo

manifest = yaml.safe_load(Path(__file__).with_name("workflow.yaml").read_text(encoding="utf-8"))
patched = argo.patch(manifest, TRAIN, templates=["train"])
for warning in patched.warnings:
    print(warning, file=sys.stderr)
print(yaml.safe_dump(dict(patched), sort_keys=False), end="")
