"""What KAI's webhooks answer, word for word (spec 6 C18, C20, spec 5 A7, A13, A28).

>>> FRACTION
'gpu-fraction annotation value must be a positive number smaller than 1.0'
"""

from __future__ import annotations

# ---- pods: the request for a part of a GPU
SHARING_DISABLED = (
    "attempting to create a pod {pod} with gpu sharing request, while GPU sharing is disabled"
)
MPS = "MPS is only supported with GPU fraction request"
BESIDE_WHOLE = "cannot have both GPU fraction request and whole GPU resource request/limit"
BOTH = "cannot request both GPU and GPU memory"
DEVICES_ALONE = (
    "cannot request multiple fractional devices without specifying fraction portion or gpu-memory"
)
MEMORY = "gpu-memory annotation value must be a positive integer greater than 0"
FRACTION = "gpu-fraction annotation value must be a positive number smaller than 1.0"
WRITTEN_OTHERWISE = (
    "gpu-fraction annotation value must be a float written with a decimal point or a scientific"
    " notation .given value: {value}"
)
DEVICES = "fraction count annotation value must be a positive integer greater than 0"
CONTAINER_NOT_FOUND = "container with name {name} not found for fraction request"
"""Also of KAI's binder."""
CONTAINER_MISSING = f"failed to get fraction container ref: {CONTAINER_NOT_FOUND}"

# ---- pods: devices that a container chooses itself
VISIBLE_VALUE = (
    "container {container} has an environment variable NVIDIA_VISIBLE_DEVICES defined with a value"
    " of {value}. This is forbidden due to conflicts with Nvidia's device plugin. The only values"
    " that are allowed are 'void' or 'none'"
)
VISIBLE_REFERENCE = (
    "container {container} has an environment variable NVIDIA_VISIBLE_DEVICES defined with a"
    " valueFrom reference. This is forbidden due to possible conflicts with Nvidia's device plugin"
)

# ---- queues
NO_RESOURCES = "resources must be specified"

# ---- pod groups
GROUP_BOTH = (
    "minMember and minSubGroup are mutually exclusive: set minMember ({pods}) to schedule a fixed"
    " number of pods, or set minSubGroup to require a minimum number of child SubGroups, but not"
    " both"
)
SUBGROUP_TWICE = "duplicate subgroup name {name}"
SUBGROUP_PARENT = "parent {parent} of {name} was not found"
SUBGROUP_CYCLE = "cycle detected in subgroups"
SUBGROUP_BOTH = 'subgroup "{name}": minMember and minSubGroup are mutually exclusive'
LEAF_MIN_SUBGROUP = (
    'subgroup "{name}": minSubGroup cannot be set on a leaf SubGroup (no child SubGroups)'
)
LEAF_NO_MINIMUM = "subgroup {name}: minMember is required"
INNER_MIN_MEMBER = (
    'subgroup "{name}": minMember cannot be set on a mid-level SubGroup (has child SubGroups); use'
    " minSubGroup instead"
)
INNER_TOO_MANY = (
    'subgroup "{name}": minSubGroup ({count}) exceeds the number of direct child SubGroups'
    " ({children})"
)
ROOT_TOO_MANY = "minSubGroup ({count}) exceeds the number of direct child SubGroups ({children})"

# ---- topologies
ALIASES = "invalid topology aliases: {reasons}"
ALIASES_TWICE = "aliases must be unique within the topology; duplicated: [{aliases}]"
ALIASES_OF_LABELS = "an alias must not equal a nodeLabel; conflicting: [{aliases}]"
