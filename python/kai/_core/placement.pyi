"""Single questions of placement, for tables, tests and notebooks."""

from collections.abc import Sequence

def placement_scores(
    nodes: Sequence[tuple[str, float, float]], *, strategy: str
) -> dict[str, float]:
    """The score of each node, by name (spec 3 §9).

    A node is its name, its room and what it offers; `strategy` is "binpack" or "spread".
    """
