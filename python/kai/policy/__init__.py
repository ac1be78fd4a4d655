"""Custom policies, written as functions over tables.

>>> import kai
>>> @kai.policy.score
... def least_cpu(pod, nodes):
...     return 100 * (1 - nodes.cpu_idle_milli / nodes.cpu_milli)
>>> cluster = kai.Cluster().queue("a").nodes("n", 3, gpus=8).pending("a/x", gpus=1)
>>> cluster = cluster.running("a/busy", cpus=32, node="n2")
>>> kai.Scheduler(policies=[least_cpu]).plan(cluster).decisions
(Bind(pod='a/x-0', node='n2', gpus=1),)

A function gets a table whose columns are NumPy arrays, and returns an array with one value per row:
a score per node (`score`), whether the pod may run there (`filter`), or a key per waiting pod group
(`pod_group_order`). It is called for many rows at once, never for a single pair of pod and node.

`score` and `filter` are *row-wise* by default: the value for a row depends only on the pod and on
that row. The function is then called only for rows that have changed, and other values are reused.
With ``whole_table=True`` it gets all rows each time, and may compare them.

The same tables must give the same values, so that a plan can be reproduced. Tables are read-only.
A table that you keep stays readable, but later calls overwrite the arrays of nodes: copy what you
keep. NumPy must be installed. docs/howto/write-a-policy.md has
examples and their cost.
"""

from __future__ import annotations

from kai.policy.declaring import Policy, filter, pod_group_order, score
from kai.policy.loading import load
from kai.policy.tables import Groups, Nodes, Pod, TypicalPods

__all__ = [
    "Groups",
    "Nodes",
    "Pod",
    "Policy",
    "TypicalPods",
    "filter",
    "load",
    "pod_group_order",
    "score",
]
