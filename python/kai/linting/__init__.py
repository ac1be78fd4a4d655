"""Finds settings and manifests that KAI would refuse or silently ignore.

>>> for finding in lint({"kind": "Pod", "metadata": {"name": "p", "annotations": {
...     "gpu-fraction": "1.5"}}, "spec": {"schedulerName": "kai-scheduler", "containers": []}}):
...     print(finding.code, finding.path)
fraction-refused metadata.annotations[gpu-fraction]
queue-missing metadata.labels

Each `Finding` has a stable code (docs/reference/lint.md), its place, and a fix.
"""

from kai.admission.finding import Edit, Finding
from kai.linting.checks import lint

__all__ = ["Edit", "Finding", "lint"]
