"""What KAI would refuse or silently ignore, in settings and manifests that others wrote.

>>> for finding in lint({"kind": "Pod", "metadata": {"name": "p", "annotations": {
...     "gpu-fraction": "1.5"}}, "spec": {"schedulerName": "kai-scheduler", "containers": []}}):
...     print(finding.code, finding.path)
fraction-refused metadata.annotations[gpu-fraction]
queue-missing metadata.labels

Each `Finding` has a stable code (docs/reference/lint.md), where it is, and what to write instead.
"""

from kai.admission.finding import Edit, Finding
from kai.linting.checks import lint

__all__ = ["Edit", "Finding", "lint"]
