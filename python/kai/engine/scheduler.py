"""Scheduler(config).plan(cluster): one cycle, as a function.

>>> import kai
>>> cluster = kai.Cluster().queue("a").node("n1", gpus=1).pending("a/one", gpus=1)
>>> kai.Scheduler().plan(cluster, now="2026-01-01T00:00:00Z").decisions
(Bind(pod='a/one-0', node='n1', gpus=1),)
"""

from __future__ import annotations

import time
from datetime import datetime
from typing import TYPE_CHECKING, Any

from kai.api import times
from kai.engine import config as configuration
from kai.engine.arguments import suggesting
from kai.engine.cluster import Cluster
from kai.engine.config import ConfigSource
from kai.engine.plan import Plan
from kai.engine.situation import Situation

if TYPE_CHECKING:
    from kai import _core


class Scheduler:
    """Plans clusters with one configuration.

    `config` is a `kai.Config`; or a mapping, the text of a YAML or JSON file, or its path, in the
    form that KAI's ``--scheduler-conf`` has (spec 2 C5). None is the configuration each snapshot
    carries, and KAI's defaults where it carries none. A name in it that is not known is skipped,
    and among the `warnings` of every plan; `kai.Config` refuses it. `as_kai` decides as KAI does
    also where kai knows better (docs/compatibility.md).

    Raises InvalidConfigError for a configuration that cannot be used.

    >>> import kai
    >>> cluster = kai.Cluster().queue("a").node("n1", gpus=1).pending("a/x", gpus=1)
    >>> kai.Scheduler().plan(cluster).decisions
    (Bind(pod='a/x-0', node='n1', gpus=1),)
    >>> kai.Scheduler({"actions": "reclaim"}).plan(cluster).decisions
    ()
    """

    @suggesting
    def __init__(self, config: ConfigSource | None = None, *, as_kai: bool = False) -> None:
        self._as_kai = as_kai
        self._sessions: dict[str, _core.Session] = {}
        self._config = None if config is None else configuration.config_json(config)
        if self._config is not None:
            self._session(self._config)

    def plan(self, cluster: Cluster, *, now: datetime | str | None = None) -> Plan:
        """What one cycle decides about this cluster, which stays as it is.

        A cluster that changed (`kai.Cluster.upsert`, `.delete`) is planned again at the cost of
        what changed, by every scheduler for itself.

        `now` is the time of the cycle, a datetime with a time zone or an RFC 3339 text; unless
        given, the cluster's own, else the current time. The same input gives the same plan. Other
        Python threads run meanwhile.

        Raises InvalidInputError for a time that is none and for a snapshot that cannot be read,
        InvalidConfigError for the configuration that a snapshot carries, and BusyError when another
        thread plans the same cluster.
        """
        if not isinstance(cluster, Cluster):
            raise TypeError(
                f"plan() takes a kai.Cluster, not {type(cluster).__name__}; see kai.load"
            )
        if now is not None:
            now_ns = times.to_ns(now)
        else:
            # Whole seconds, as all time stamps of KAI are.
            clock_ns = int(time.time()) * times.SECOND_NS
            now_ns = clock_ns if cluster._now_ns is None else cluster._now_ns
        compiled = cluster._core_cluster()
        config = compiled.config_json if self._config is None else self._config
        plan = self._session(config).plan(compiled, now_ns=now_ns)
        return Plan(
            plan,
            input=cluster.name,
            now_ns=now_ns,
            rejected=cluster._all_rejected(plan.rejected),
            warnings=tuple(dict.fromkeys((*plan.warnings, *cluster._warnings()))),
            situation=Situation(plan),
        )

    def _session(self, config: str) -> _core.Session:
        """A session for this configuration, read once."""
        if config not in self._sessions:
            from kai import _core

            parsed = configuration.read(config, as_kai=self._as_kai)
            self._sessions[config] = _core.Session(parsed)
        return self._sessions[config]

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_sessions": {}}  # made again when first needed

    def __repr__(self) -> str:
        config = "of each snapshot" if self._config is None else self._config
        return f"<kai.Scheduler, configuration {config}{', as KAI' if self._as_kai else ''}>"
