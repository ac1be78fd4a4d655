"""The texts from which a reader learns how the last binding of a pod went.

    event = under_way("team/a", uid, "n1", "the reservation pod x/y to report its GPU")
    told_in(event.message)       # Told("n1", "the reservation pod x/y to report its GPU")

A binding that is over within a second has the condition PodBound and its event, as with KAI. One
that takes longer first gets the event `Binding`: otherwise nothing in the cluster shows that it is
under way, because the pod has neither a node nor, with `--binding direct`, a BindRequest.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from kai.controllers.verdicts.facts import Event, split

BINDING = "Binding"
"""The reason of the event."""
SLOW_S = 1.0
"""A step that takes longer is reported."""


class Told(NamedTuple):
    """`text`: what the binding waits for, or why it failed."""

    node: str
    text: str


def under_way(pod: str, uid: str, node: str, waits_for: str) -> Event:
    """`waits_for`: a noun, such as "its volumes"."""
    text = f"Binding pod {pod} to node {node}. It waits for {waits_for}"
    return Event("Pod", *split(pod), uid, "Normal", BINDING, text)


_UNDER_WAY = re.compile(r"Binding pod \S+ to node (\S+)\. It waits for (.*)", re.DOTALL)
_FAILED = re.compile(r"Failed to bind pod \S+ to node (\S+)[.:] (.*)", re.DOTALL)


def told_in(message: str) -> Told | None:
    """The node, and what the binding waits for, in the message of the event `Binding`."""
    found = _UNDER_WAY.fullmatch(message)
    return None if found is None else Told(*found.groups())


def failed_in(message: str) -> Told | None:
    """The node and the reason in the text of a failed binding: of a condition or an event, of kai
    or of KAI."""
    found = _FAILED.fullmatch(message)
    return None if found is None else Told(*found.groups())
