"""What running pods need, read from the input; what the engine has, asked of the engine."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from situations import Situation

from kai.verify import Engine
from kai.verify.features import FEATURES, example, lacks, needed_by_running
from kai.verify.outcome import not_built

SUBGROUPS = {"subGroups": [{"name": "part", "minMember": 1}]}
TOPOLOGY = {"topologyConstraint": {"topology": "site", "requiredTopologyLevel": "rack"}}
CLAIM = {"resourceClaims": [{"name": "gpu", "resourceClaimName": "claim"}]}


@pytest.mark.parametrize(
    ("pod", "group", "needed"),
    [
        ({}, {}, set()),
        ({"annotations": {"gpu-fraction": "0.5"}}, {}, {"gpu-fraction"}),
        ({"annotations": {"gpu-memory": "100"}}, {}, {"gpu-memory"}),
        ({"requests": {"nvidia.com/mig-1g.5gb": "1"}}, {}, {"mig"}),
        (CLAIM, {}, {"dra"}),
        ({}, SUBGROUPS, {"sub-groups"}),
        ({}, TOPOLOGY, {"topology"}),
    ],
)
@pytest.mark.parametrize("node", ["n1", ""])
def test_running_pods_and_their_groups_need_what_they_use(
    pod: dict[str, Any], group: dict[str, Any], needed: set[str], node: str
) -> None:
    here = Situation().queue("q").node("n1").group("g", **group).pod("a", node, "g", **pod)
    found = needed_by_running({"rawObjects": here.objects})
    assert found == (needed if node else set())


def test_an_engine_is_asked_with_a_waiting_pod() -> None:
    reason = SimpleNamespace(code="not_built", message="needs mig, which is not built yet")
    group = SimpleNamespace(reasons=[reason])
    without = SimpleNamespace(warnings=(), pod_groups={"ns/group": group})
    having = SimpleNamespace(warnings=(), pod_groups={})
    assert lacks("mig", lambda snapshot, now: without)
    assert not lacks("dra", lambda snapshot, now: without)
    assert not lacks("mig", lambda snapshot, now: having)


@pytest.mark.parametrize("feature", FEATURES)
def test_the_pod_that_asks_waits_for_this_feature_alone(feature: str) -> None:
    plan = Engine()(example(feature), now="2026-01-01T12:00:00Z")
    assert plan.rejected == ()
    assert set(not_built(plan)) <= {feature}
