"""The rights for reading a live cluster: every kind that a `--live` command or a shadow reads.

    rights.LISTED                # kinds that are listed, and watched by `kai.connect` and shadows
    rights.reader()              # the ClusterRole that `kai install --reader` prints

The role follows from the tables of kinds. tests/unit/live/test_reader_rights.py compares it with
the requests of each command.
"""

from __future__ import annotations

from typing import Any

from kai.api.resources import new_object, resource
from kai.controllers.planning.kinds import WATCHED
from kai.install import access
from kai.install.access import Rule

NAME = "kai-reader"
HOW_TO_BIND = (
    "To give it to a user, a group or a service account:",
    f"kubectl create clusterrolebinding {NAME}-ann --clusterrole={NAME} --user=ann",
    f"kubectl create clusterrolebinding {NAME}-ml --clusterrole={NAME} --group=ml",
    f"kubectl create clusterrolebinding {NAME}-bot --clusterrole={NAME} --serviceaccount=ml:bot",
)
EXPLAINED = ("Event",)
"""Kinds that only `kai explain` lists, one pod at a time."""
LISTED = (*WATCHED, *EXPLAINED)


def rules() -> tuple[Rule, ...]:
    """The rules of the role. Owners are read for pods that are in no pod group yet."""
    owners = ((group, each) for group, kinds in access.OWNERS.items() for each in kinds)
    return (*map(listed, LISTED), *(Rule(group, each, ("get",)) for group, each in owners))


def listed(kind: str) -> Rule:
    """The rule for one of LISTED."""
    row = resource(kind)
    return Rule(row.group, row.plural, ("list",) if kind in EXPLAINED else ("list", "watch"))


def reader(name: str = NAME) -> dict[str, Any]:
    """A ClusterRole that only reads."""
    return new_object("ClusterRole", {"name": name}, rules=access.in_kubernetes(rules()))
