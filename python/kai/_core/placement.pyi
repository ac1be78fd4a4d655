"""Single questions of placement, for tables, tests and notebooks."""

from collections.abc import Mapping, Sequence

def placement_scores(
    nodes: Sequence[tuple[str, float, float]], *, strategy: str
) -> dict[str, float]:
    """The score of each node, by name (spec 3 §9).

    A node is its name, its room and what it offers; `strategy` is "binpack" or "spread".
    """

def topology_levels(levels: Sequence[str], *, required: str, preferred: str) -> list[str]:
    """The levels whose domains are tried, narrowest first, "root" for all nodes (spec 4 A8).

    Raises `ValueError` for levels that the topology does not have.
    """

def topology_node_sets(
    levels: Sequence[str],
    nodes: Sequence[tuple[str, Mapping[str, str], Mapping[str, int]]],
    pods: Sequence[Mapping[str, int]],
    *,
    active: Mapping[str, int],
    candidates: Sequence[str] | None,
    required: str,
    preferred: str,
) -> tuple[list[list[str]], dict[str, float]]:
    """The sets of nodes to try for some pods, in order, and the nodes' scores (spec 4 §6, §7).

    A node is its name, its labels and what is free there; `active` counts pods that stand already,
    by node; `candidates` are the nodes that may be used. Amounts are in millicores, bytes, devices.
    """
