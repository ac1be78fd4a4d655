"""The engine with the plugin `placementpolicy` places pods of openb as the experiment does."""

import pytest

import kai
from kai.sim import openb

np = pytest.importorskip("numpy")
filling = pytest.importorskip("kai.sim.filling")

pytestmark = pytest.mark.skipif(
    not openb.folder().is_dir(),
    reason=f"no openb lists in {openb.folder()}; KAI_DATA names the folder that holds openb/",
)

NODES, PODS = 60, 700


class Small:
    """Every twentieth node and some of the pods, as the experiment has them and as a snapshot."""

    def __init__(self, workload: str, policy: str, scores: str) -> None:
        whole = filling.openb_cluster(workload)
        pods = slice(0, len(whole.pods), len(whole.pods) // PODS)
        nodes = slice(0, len(whole.nodes), len(whole.nodes) // NODES)
        self.cluster = filling.FillCluster(
            node_names=whole.node_names[nodes],
            nodes=whole.nodes[nodes],
            pod_names=whole.pod_names[pods],
            pods=whole.pods[pods],
            constraints=whole.constraints,
        )
        # Which of equally frequent pods is the last typical one depends on the lists' texts there,
        # and on their allowed nodes here; least waste uses each pod of the mix.
        percent = 100 if policy == "least-waste" else 95
        self.filled = filling.fill(
            self.cluster, policy, seed=42, scores=scores, demand=0, typical_percent=percent
        )
        self.node_rows = {row["sn"]: row for row in openb.gpu_nodes()}
        self.pod_rows = {row["name"]: row for row in openb.read(workload)[1]}
        self.config = {
            "actions": "allocate",
            "plugins": {
                "placementpolicy": {"policy": policy, "scores": scores, "typicalPercent": percent}
            },
        }

    def expected(self) -> dict[str, str]:
        """Node by pod."""
        cluster = self.cluster
        return {
            f"openb/{cluster.pod_names[pod]}": cluster.node_names[node]
            for pod, node in zip(self.filled.pod, self.filled.node, strict=True)
            if node >= 0
        }

    def planned(self) -> dict[str, str]:
        """The same from the engine: nodes are named, and pods created, in the experiment's
        order."""
        cluster = self.cluster
        names = {cluster.node_names[node]: i for i, node in enumerate(self.filled.node_order)}
        nodes = [
            {**self.node_rows[name], "sn": f"{names[name]:04}-{name}"}
            for name in cluster.node_names
        ]
        pods = [
            {
                **self.pod_rows[cluster.pod_names[pod]],
                "creation_time": str(i),
                "qos": "LS",
            }
            for i, pod in enumerate(self.filled.pod)
        ]
        snapshot = openb.snapshot(nodes, pods)
        plan = kai.Scheduler(self.config).plan(kai.Cluster.from_snapshot(snapshot), now=openb.NOW)
        assert len(plan.pod_groups) == len(pods)
        return {each.pod: each.node.partition("-")[2] for each in plan.decisions}


@pytest.mark.parametrize("scores", ["whole", "exact"])
@pytest.mark.parametrize("policy", [each for each in filling.POLICIES if each != "random"])
@pytest.mark.parametrize("workload", ["default", "gpushare100", "gpuspec33"])
def test_every_pod_gets_the_node_of_the_experiment(workload: str, policy: str, scores: str) -> None:
    small = Small(workload, policy, scores)
    expected = small.expected()
    assert len(expected) < len(small.cluster.pods), "the cluster is not filled"
    assert small.planned() == expected


def test_random_placement_depends_only_on_the_seed() -> None:
    small = Small("default", "random", "whole")
    first, again = small.planned(), small.planned()
    small.config["plugins"] = {"placementpolicy": {"policy": "random", "seed": 1}}
    assert first == again
    assert first != small.planned()
