"""The table of kinds is consistent, also with the code for single kinds."""

from kai.api import defaults, kinds
from kai.grouping import gangs
from kai.integrations.workloads.shapes import SHAPES


def test_every_shape_of_a_kind_exists_and_is_used() -> None:
    assert {pods.shape for kind in kinds.KINDS.values() for pods in kind.pods} == {*SHAPES, ""}


def test_kinds_that_a_snapshot_lists_are_read_and_make_no_pods() -> None:
    for name in kinds.LISTS:
        kind = kinds.KINDS[name]
        assert kind.read, name
        assert kind.makes_pods is None, name
    assert len(set(kinds.LISTS.values())) == len(kinds.LISTS)


def test_priority_classes_are_in_the_chart() -> None:
    assert {kind.priority for kind in kinds.KINDS.values()} <= set(defaults.PRIORITIES)


def test_gangs_are_read_from_kinds_with_segments_leaves_a_ray_cluster_or_roles() -> None:
    rows = {name: kind for name, kind in kinds.KINDS.items() if kind.read}
    with_segments = {name for name, kind in rows.items() if kind.segments}
    with_leaves = {name for name, kind in rows.items() if kind.gang == "leaf"}
    of_ray = {name for name, kind in rows.items() if kind.ray}
    of_kubeflow = {name for name, kind in rows.items() if kind.gang == kinds.MIN_AVAILABLE}
    of_kubeflow.remove("PaddleJob")  # KAI groups it like an unknown kind: one pod starts
    of_grove = {"PodGang"}  # which owns no pods: a label of the pods names it
    assert set(gangs.KNOWN) == with_segments | with_leaves | of_ray | of_kubeflow | of_grove
    assert with_segments | {"MPIJob"} == set(gangs.OF_PODS)


def test_an_unknown_kind_has_the_defaults_of_a_workload() -> None:
    unknown = kinds.known("MegaJob")
    assert (unknown.owner, unknown.priority, unknown.pods) == ("metadata", defaults.TRAIN, ())
