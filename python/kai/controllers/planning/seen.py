"""The objects in the feed, for controllers that write about them.

For the planning thread.
"""

from __future__ import annotations

import json
from typing import Any

from kai.api import keys
from kai.controllers.planning.facts import Facts
from kai.controllers.verdicts import Condition, GroupSeen, PodSeen


class FeedSeen:
    """An implementation of `kai.controllers.verdicts.Seen`.

    `node_pool`: of the scheduler, and therefore of all pod groups that it plans.
    """

    def __init__(self, feed: Facts, node_pool: str = "") -> None:
        self._feed, self._node_pool = feed, node_pool

    def pod(self, name: str) -> PodSeen | None:
        [facts] = self._feed.pod_facts([name])
        if facts is None:
            return None
        uid, node, status, reason, message, nominated, group, is_marked = facts
        namespace = name.partition("/")[0]
        return PodSeen(
            uid,
            f"{namespace}/{group}" if group else "",
            Condition(status, reason, message) if status else None,
            nominated=nominated,
            marked=is_marked,
            placed=bool(node),
        )

    def group(self, name: str) -> GroupSeen | None:
        [facts] = self._feed.group_facts([name])
        [status] = self._feed.group_status([name])
        if facts is None:
            return None
        uid, conditions, last_start, stale_since, last_eviction, _, attained = facts
        # An invalid group has no sums.
        requested, allocated, _, is_preemptible = status or ({}, {}, {}, True)
        stamps = {
            keys.LAST_START_ANNOTATION: last_start,
            keys.STALE_ANNOTATION: stale_since,
            keys.LAST_EVICTION_ANNOTATION: last_eviction,
            keys.ATTAINED_SERVICE_ANNOTATION: attained,
        }
        return GroupSeen(
            uid,
            tuple(_parsed(conditions) or ()),
            {key: value for key, value in stamps.items() if value},
            node_pool=self._node_pool,
            holds=bool(allocated),
            requested=requested,
            preemptible=is_preemptible,
        )


def _parsed(data: bytes) -> Any:
    return json.loads(data) if data else None
