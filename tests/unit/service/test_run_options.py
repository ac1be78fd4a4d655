"""kai.run: roles and options by name. Its behaviour: tests/cluster/test_live.py."""

import asyncio
from dataclasses import fields

import pytest

import kai
from fakes.cluster import FakeCluster
from kai.service.options import Options, RunOptions, options_of


def test_run_has_every_option() -> None:
    """Including those for type checkers."""
    assert {each.name for each in fields(Options)} == {"roles", *RunOptions.__annotations__}
    declared = {each.name: each.type for each in fields(Options)}
    assert {name: declared[name] for name in RunOptions.__annotations__} == {
        name: getattr(hint, "__forward_arg__", hint)
        for name, hint in RunOptions.__annotations__.items()
    }


def test_roles_are_selected_by_name() -> None:
    every = ("scheduler", "binder", "pod-grouper", "pod-group-controller", "queue-controller")
    assert options_of(["all"], {}).roles == every
    assert options_of(iter(["queue-controller", "scheduler"]), {}).roles == (every[0], every[4])
    with pytest.raises(kai.InvalidInputError, match="no role 'schduler'; did you mean 'scheduler'"):
        asyncio.run(kai.run(roles="schduler"))
    with pytest.raises(TypeError, match=r"no argument 'schedulername'; did you mean 'scheduler_n"):
        asyncio.run(kai.run(schedulername="x"))  # type: ignore[call-arg]


def test_a_server_that_cannot_be_reached(cluster: FakeCluster) -> None:
    cluster.stop_serving()
    with pytest.raises(kai.UnreachableError):
        asyncio.run(kai.run(kubeconfig=cluster.kubeconfig))
