"""``kai nodes``: free GPUs on nodes, by class of node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from kai.api import keys
from kai.cli.output import Answer, Answers
from kai.cli.work import answering_plans

if TYPE_CHECKING:
    from kai.engine.cluster import Cluster
    from kai.engine.nodes import NodePlan
    from kai.engine.plan import Plan
    from kai.engine.slices import Slices
    from kai.engine.text import Table

MOST_ROWS = 20


@click.command(
    "nodes",
    epilog="""\b
Examples:
  kai nodes snapshot.zip
  kai nodes --live --context staging
  kai nodes snapshot.zip --wide             a row per node, with CPUs and memory
  kai nodes snapshot.zip --json | jq '.nodes[] | select(.free_gpus > 3)'
  kai nodes snapshot.zip -o csv > nodes.csv
\b
Two nodes of one class; on n1, half of a shared GPU is free:
  NVIDIA-H100, 8 GPUs each: 11 of 16 GPUs free on 2 nodes, 1 of them whole
    nodes  free  free parts  leaving  state
    n1        3         0.5        0
    n2        8                    0
""",
)
@answering_plans
def command(cluster: Cluster, plan: Plan, answers: Answers) -> Answer:
    """Show the free GPUs of each node after the decisions of one cycle.

    A class of nodes has the same GPU model (the label nvidia.com/gpu.product) and
    the same number of GPUs. Columns: "free": whole free GPUs; "free parts": the
    free part of each shared GPU; "leaving": GPUs that become free when evicted
    and terminating pods are gone; "state": why a node accepts no pods. Equal
    nodes of a class share a row. Nodes with MIG slices have a column with the free
    slices of each profile. INPUT is as for
    `kai plan`.
    """
    return _answer(cluster, plan, wide=answers.is_wide)


_COLUMNS = (
    "node", "gpu_product", "state", "gpus", "free_gpus", "free_parts", "leaving_gpus", "cpus",
    "free_cpus", "memory", "free_memory",
)  # fmt: skip


def _answer(cluster: Cluster, plan: Plan, *, wide: bool) -> Answer:
    from functools import cache

    @cache
    def classes() -> list[_Class]:
        return _classes(plan.nodes.values(), _products(cluster), slices())

    @cache
    def slices() -> dict[str, dict[str, Slices]]:
        from kai.engine.slices import slices_of

        return slices_of(cluster, plan)

    def data() -> dict[str, Any]:
        nodes = {
            node.name: {"gpu_product": each.product, **node.to_dict(), **each.mig_of(node)}
            for each in classes()
            for node in each.nodes
        }
        summed = [each.to_dict() for each in classes()]
        return {"input": plan.input, "now": plan.now_text, "classes": summed, "nodes": nodes}

    def rows() -> Iterator[dict[str, Any]]:
        for name, node in data()["nodes"].items():
            parts = " ".join(map(str, node["free_parts"]))
            yield {"input": plan.input, "node": name, **node, "free_parts": parts}

    def heading() -> str:
        from kai.engine import text

        nodes = [node for each in classes() for node in each.nodes]
        gpus = text.count(sum(node.gpus for node in nodes), "GPU")
        free = f"{text.number(sum(each.free_gpus for each in classes()))} of {gpus}"
        if number := sum(each.all_slices for each in classes()):
            free_slices = sum(each.free_slices or 0 for each in classes())
            free += f" and {text.number(free_slices)} of {text.count(number, 'MIG slice')}"
        found = f"{free} free on {text.count(len(nodes), 'node')} after this cycle"
        return f"{plan.input} at {plan.now_text}: {found if nodes else 'no nodes'}"

    return Answer(
        heading=heading,
        tables=lambda: [_table(each, wide=wide) for each in classes()],
        data=data,
        rows=rows,
        columns=_COLUMNS,
    )


# ---- classes -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Class:
    """Nodes with the same number of GPUs of one model; None: no label names the model.

    `profiles`: the MIG slices of each node. `slices`: those of all nodes, by name and profile.
    """

    product: str | None
    gpus_each: float
    profiles: tuple[tuple[str, int], ...]
    nodes: tuple[NodePlan, ...]
    slices: Mapping[str, Mapping[str, Slices]]

    @property
    def all_slices(self) -> int:
        """The MIG slices of all nodes."""
        return len(self.nodes) * sum(number for _, number in self.profiles)

    @property
    def free_slices(self) -> int | None:
        """The free ones on nodes that accept pods; None: the pods are not known."""
        found = [
            each.free
            for node in self.nodes
            if not node.state
            for each in self.slices.get(node.name, {}).values()
        ]
        return None if None in found else sum(each or 0 for each in found)

    def mig_of(self, node: NodePlan) -> dict[str, Any]:
        """The slices of a node by profile, as a member of the JSON; empty if it has none."""
        if node.name not in self.slices:
            return {}
        return {"mig": {name: each._asdict() for name, each in self.slices[node.name].items()}}

    @property
    def free_gpus(self) -> float:
        """Whole free GPUs on nodes that accept pods."""
        return sum(node.free_gpus for node in self.nodes if not node.state)

    def to_dict(self) -> dict[str, Any]:
        return {
            "gpu_product": self.product,
            "gpus_each": self.gpus_each,
            "nodes": len(self.nodes),
            "whole_nodes": sum(node.is_whole and not node.state for node in self.nodes),
            "gpus": sum(node.gpus for node in self.nodes),
            "free_gpus": self.free_gpus,
            "free_parts": sum(sum(node.free_parts) for node in self.nodes if not node.state),
            "leaving_gpus": sum(node.leaving_gpus for node in self.nodes),
        }

    def title(self) -> str:
        from kai.engine import text

        on = text.count(len(self.nodes), "node")
        if not self.gpus_each and not self.profiles:
            return f"no GPUs: {on}"
        each = f"{self.product or 'GPUs without a product label'}, {self._each()} each"
        sums = self.to_dict()
        free = []
        if self.gpus_each:
            gpus = text.count(sums["gpus"], "GPU")
            free.append(f"{text.number(sums['free_gpus'])} of {gpus}")
        if self.profiles and self.free_slices is not None:
            slices = text.count(self.all_slices, "slice")
            free.append(f"{text.number(self.free_slices)} of {slices}")
        whole = sums["whole_nodes"] if self.gpus_each else 0
        end = f", {text.number(whole)} of them whole" if whole else ""
        return f"{each}: {' and '.join(free)}{' free' if free else ''} on {on}{end}"

    def _each(self) -> str:
        from kai.engine import text

        each = [text.count(self.gpus_each, "GPU")] if self.gpus_each else []
        each += [f"{number} x {profile}" for profile, number in self.profiles]
        return ", ".join(each)


def _products(cluster: Cluster) -> dict[str, str]:
    """The GPU model of each node, if a label names it."""
    from kai.api.reading import at, labels_of, text

    found = {}
    for node in cluster.objects.get("nodes", ()):
        product = labels_of(node).get(keys.GPU_PRODUCT_LABEL)
        if isinstance(product, str) and product:
            found[text(at(node, "metadata", "name"))] = product
    return found


def _classes(
    nodes: Iterable[NodePlan],
    products: Mapping[str, str],
    slices: Mapping[str, Mapping[str, Slices]],
) -> list[_Class]:
    """The classes; those with the most GPUs come first, then those with the most slices."""
    found: dict[tuple[str | None, float, tuple[tuple[str, int], ...]], list[NodePlan]] = {}
    for node in nodes:
        profiles = tuple((name, each.total) for name, each in slices.get(node.name, {}).items())
        product = products.get(node.name) if node.gpus or profiles else None
        found.setdefault((product, node.gpus, profiles), []).append(node)
    made = [_Class(*key, tuple(each), slices) for key, each in found.items()]
    return sorted(
        made,
        key=lambda each: (
            -each.gpus_each * len(each.nodes),
            -each.all_slices,
            each.product or "~",
            -each.gpus_each,
        ),
    )


# ---- tables --------------------------------------------------------------------------------------


def _table(each: _Class, *, wide: bool) -> Table:
    from kai.engine import text

    by_room = sorted(
        each.nodes,
        key=lambda node: (node.state != "", -node.free_gpus, -sum(node.free_parts)),
    )
    profiles = [profile for profile, _ in each.profiles]
    resources = wide or not (each.gpus_each or profiles)
    alike: dict[tuple[str, ...], list[str]] = {}
    for node in by_room:
        row: tuple[str, ...] = ()
        if each.gpus_each:
            row = (text.number(node.free_gpus), _parts(node), text.number(node.leaving_gpus))
        row += tuple(_free(each, node, profile) for profile in profiles)
        if resources:
            row += (text.number(node.free_cpus), text.size(node.free_memory))
        key = (*row, node.state, node.name if wide else "")
        alike.setdefault(key, []).append(node.name)
    rows = [(text.listing(names, most=1), *key[:-1]) for key, names in alike.items()]
    most = None if wide else MOST_ROWS
    hidden = sum(len(names) for names in [*alike.values()][MOST_ROWS:]) if most else 0
    columns = ["node" if wide else "nodes"]
    columns += ["free", "free parts", "leaving"] if each.gpus_each else []
    columns += [f"{profile} free" for profile in profiles]
    columns += ["CPUs free", "memory free"] if resources else []
    if any(node.state for node in each.nodes):
        columns.append("state")
    else:
        rows = [row[:-1] for row in rows]
    return text.Table(
        each.title(),
        columns,
        rows[:most],
        right=frozenset(range(1, len(rows[0]) if columns[-1] != "state" else len(rows[0]) - 1)),
        note=f"and {text.count(hidden, 'more node')}; --wide shows all" if hidden else "",
    )


def _free(each: _Class, node: NodePlan, profile: str) -> str:
    """The free slices of a node; "" if they are not known."""
    free = each.slices[node.name][profile].free
    return "" if free is None else str(free)


def _parts(node: NodePlan) -> str:
    """ "2 x 0.5, 0.25"."""
    from kai.engine import text

    counts = Counter(sorted(node.free_parts, reverse=True))
    return ", ".join(
        text.number(part) if number == 1 else f"{number} x {text.number(part)}"
        for part, number in counts.items()
    )
