"""Compares another scheduler's decisions with kai's plans: see `comparison`."""

from kai.controllers.shadow.causes import explained
from kai.controllers.shadow.comparison import LOOKBACK_S, PATIENCE_S, Case, Comparison
from kai.controllers.shadow.seen import GroupSeen, PodSeen, RequestSeen
from kai.controllers.shadow.tally import Tally
from kai.controllers.shadow.values import (
    CAUSES,
    OUTCOMES,
    Again,
    Chosen,
    Compared,
    Planned,
)

__all__ = [
    "CAUSES",
    "LOOKBACK_S",
    "OUTCOMES",
    "PATIENCE_S",
    "Again",
    "Case",
    "Chosen",
    "Compared",
    "Comparison",
    "GroupSeen",
    "Planned",
    "PodSeen",
    "RequestSeen",
    "Tally",
    "explained",
]
