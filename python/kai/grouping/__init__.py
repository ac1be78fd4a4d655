"""Pods into pod groups: what owns them, how many start together, in which parts.

    grouped = group(pods, workloads, existing_groups, priority_classes)
    grouped.pod_groups, grouped.group_of_pod

Manifests in, manifests out; nothing here reads a file or talks to a cluster. `group` takes a whole
input; `top_owner`, `gang_of` and `pod_group` are its steps for one pod and one group.
"""

from kai.grouping.assignment import Grouped, Problem, group
from kai.grouping.gangs import Gang, gang_of
from kai.grouping.owners import Key, Owner, top_owner
from kai.grouping.pod_groups import pod_group
from kai.grouping.replicas import Nonsense

__all__ = [
    "Gang",
    "Grouped",
    "Key",
    "Nonsense",
    "Owner",
    "Problem",
    "gang_of",
    "group",
    "pod_group",
    "top_owner",
]
