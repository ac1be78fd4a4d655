"""Groups pods into pod groups: their owner, how many start together, and their sub-groups.

    grouped = group(pods, workloads, existing_groups, priority_classes)
    grouped.pod_groups, grouped.group_of_pod

Input and output are manifests; nothing here reads a file or talks to a cluster. `group` processes a
whole input; `top_owner`, `gang_of` and `pod_group` are its steps for one pod and one group. In a
cluster, owners arrive one by one: kai.controllers.grouper uses `chain_of` and `owner_of` instead of
`top_owner`.
"""

from kai.api.owning import Key
from kai.grouping.assignment import Grouped, Problem, group
from kai.grouping.gangs import gang_of
from kai.grouping.owners import (
    Owner,
    Reference,
    chain_in,
    chain_of,
    key_of,
    owner_of,
    reference_of,
    top_owner,
)
from kai.grouping.parts import Gang
from kai.grouping.pod_groups import Rules, pod_group
from kai.grouping.recreation import FIXED, controller_of, is_created_again, says_if_movable
from kai.grouping.replicas import InvalidField

__all__ = [
    "FIXED",
    "Gang",
    "Grouped",
    "InvalidField",
    "Key",
    "Owner",
    "Problem",
    "Reference",
    "Rules",
    "chain_in",
    "chain_of",
    "controller_of",
    "gang_of",
    "group",
    "is_created_again",
    "key_of",
    "owner_of",
    "pod_group",
    "reference_of",
    "says_if_movable",
    "top_owner",
]
