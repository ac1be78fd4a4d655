"""How much more `placement: best-fit` places than first fit, on partly used racks.

    python tests/bench/fragmentation.py [--clusters 200]

Two zones of six racks of four nodes with 8 GPUs, partly used at random. Groups arrive one after the
other, each in one zone, in one to four parts of 1 to 24 GPUs, each part in one rack. Every group is
planned with the earlier groups running, until twelve have arrived. Information: nothing here fails.
"""

import argparse
import random
from typing import Any

import kai
from kai.sim import step

NOW = "2026-01-01T00:00:00Z"
RACK = {"topology": "site", "requiredTopologyLevel": "rack"}
PLUGINS = ("predicates", "proportion", "priority", "elastic", "subgrouporder", "nodeplacement")


def scheduler(placement: str) -> kai.Scheduler:
    plugins: list[dict[str, Any]] = [{"name": name} for name in PLUGINS]
    plugins.append({"name": "topology", "arguments": {"placement": placement}})
    return kai.Scheduler({"actions": "allocate", "tiers": [{"plugins": plugins}]})


def site(draw: random.Random) -> kai.Cluster:
    cluster = kai.Cluster().topology("site", "zone", "rack").queue("a")
    for zone in range(2):
        for rack in range(6):
            for node in range(4):
                name = f"n{zone}{rack}{node}"
                cluster.node(name, gpus=8, cpus=64, labels={"zone": f"z{zone}", "rack": f"r{rack}"})
                if used := draw.choice((0, 2, 4, 5, 6, 8)):
                    cluster.running(f"a/runs-{name}", gpus=used, node=name)
    return cluster


def arrivals(draw: random.Random) -> list[list[int]]:
    return [[draw.randint(1, 24) for _ in range(draw.randint(1, 4))] for _ in range(12)]


def placed(cluster: kai.Cluster, groups: list[list[int]], placement: str) -> tuple[int, int]:
    """How many of the groups start, and how many GPUs they get."""
    started = gpus = 0
    for number, parts in enumerate(groups):
        name = f"group-{number:02d}"
        snapshot = cluster.to_snapshot()
        arriving = kai.Cluster.from_snapshot(snapshot)
        for part, pods in enumerate(parts):
            labels = {"kai.scheduler/subgroup-name": f"part-{part}"}
            arriving.pending(
                f"a/{name}",
                pods=pods,
                gpus=1,
                labels=labels,
                topology="site",
                required_level="zone",
            )
        snapshot = arriving.to_snapshot()
        [group] = [
            each for each in snapshot["rawObjects"]["podGroups"] if each["metadata"]["name"] == name
        ]
        group["spec"]["subGroups"] = [
            {"name": f"part-{part}", "minMember": pods, "topologyConstraint": RACK}
            for part, pods in enumerate(parts)
        ]
        arriving = kai.Cluster.from_snapshot(snapshot)
        plan = scheduler(placement).plan(arriving, now=NOW)
        if not plan.decisions:
            continue  # the pod is placed elsewhere
        started += 1
        gpus += len(plan.decisions)
        cluster = kai.Cluster.from_snapshot(step(snapshot, plan, now=NOW))
    return started, gpus


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--clusters", type=int, default=200)
    clusters = parser.parse_args().clusters
    sums = {placement: [0, 0] for placement in ("first-fit", "best-fit")}
    better = worse = 0
    for seed in range(clusters):
        found = {}
        for placement, sum_ in sums.items():
            draw = random.Random(seed)
            cluster = site(draw)
            found[placement] = placed(cluster, arrivals(draw), placement)
            sum_[0] += found[placement][0]
            sum_[1] += found[placement][1]
        better += found["best-fit"][1] > found["first-fit"][1]
        worse += found["best-fit"][1] < found["first-fit"][1]
    for placement, (started, gpus) in sums.items():
        print(f"{placement}: {started} of {12 * clusters} groups, {gpus} GPUs")
    print(f"best fit gives out more in {better} of {clusters} clusters, less in {worse}")


if __name__ == "__main__":
    main()
