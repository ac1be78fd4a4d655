"""Fixes of one change, each proven again by a cluster that is read again."""

from __future__ import annotations

from typing import Any

import kai
from kai.engine.fixing.fixes import Fix
from kai.engine.fixing.trials import starts_in

NOW = "2026-01-01T12:00:00Z"


def plan_of(cluster: kai.Cluster) -> kai.Plan:
    return kai.Scheduler().plan(cluster, now=NOW)


def fixes(cluster: kai.Cluster, group: str, **options: Any) -> dict[str, Fix]:
    """The fixes with one change, by kind. Each starts the group in a cluster that is read again."""
    found = plan_of(cluster).fix(group, most=20, **options)
    for fix in found:
        changed = kai.Cluster.from_snapshot(fix.apply(cluster).to_snapshot())
        at = changed.now if "wait" in fix.kinds else NOW
        assert starts_in(kai.Scheduler().plan(changed, now=at), group), fix.changes
    return {fix.kinds[0]: fix for fix in found if len(fix.kinds) == 1}
