"""The table of resources beside the table of kinds."""

import pytest

import kai
from kai.api.kinds import CLUSTER_SCOPED, KINDS
from kai.api.resources import NOT_SERVED, OURS, RESOURCES, Resource, resource


def test_every_kind_that_a_cluster_has_is_in_the_table() -> None:
    assert set(KINDS) - set(RESOURCES) == NOT_SERVED
    for name, kind in KINDS.items():
        if name in RESOURCES:
            assert RESOURCES[name].group == kind.group
            assert not (name in CLUSTER_SCOPED and RESOURCES[name].namespaced)


def test_plurals_are_lower_case_kinds() -> None:
    for kind, row in RESOURCES.items():
        assert row.kind == kind
        assert row.plural[:3] == kind.lower()[:3]
        assert row.plural.islower()


@pytest.mark.parametrize(
    ("kind", "where", "path"),
    [
        ("Pod", (), "/api/v1/pods"),
        ("Pod", ("team",), "/api/v1/namespaces/team/pods"),
        ("Pod", ("team", "p", "status"), "/api/v1/namespaces/team/pods/p/status"),
        ("Node", ("ignored", "n1"), "/api/v1/nodes/n1"),
        ("Namespace", ("", "team"), "/api/v1/namespaces/team"),
        ("Queue", ("", "q"), "/apis/scheduling.run.ai/v2/queues/q"),
        ("Lease", ("kai", "a"), "/apis/coordination.k8s.io/v1/namespaces/kai/leases/a"),
    ],
)
def test_api_paths(kind: str, where: tuple[str, ...], path: str) -> None:
    assert resource(kind).path(*where) == path


def test_api_versions() -> None:
    assert resource("Pod").api_version == "v1"
    assert resource("PodGroup").api_version == "scheduling.run.ai/v2alpha2"


def test_other_kinds_are_found_by_discovery_only() -> None:
    with pytest.raises(kai.NotFoundError, match="'Widget'"):
        resource("Widget")
    widget = Resource("Widget", "example.test", "v1", "widgets", False)
    assert widget.path("team", "w") == "/apis/example.test/v1/widgets/w"


def test_kai_has_six_resource_definitions() -> None:
    assert [each.kind for each in OURS] == [
        "Queue",
        "PodGroup",
        "BindRequest",
        "Topology",
        "Config",
        "SchedulingShard",
    ]
