"""Scheduler(config).plan(cluster): one cycle, as a function.

>>> import kai
>>> cluster = kai.Cluster().queue("a").node("n1", gpus=1).pending("a/one", gpus=1)
>>> kai.Scheduler().plan(cluster, now="2026-01-01T00:00:00Z").decisions
(Bind(pod='a/one-0', node='n1', gpus=1),)
"""

from __future__ import annotations

import copy
import functools
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from kai.api import keys, times
from kai.api.arguments import all_in_sentences, suggesting, wrong_type
from kai.api.reading import labels_of
from kai.engine import config as configuration
from kai.engine import parameters, text
from kai.engine.cluster import Cluster
from kai.engine.config import ConfigSource
from kai.engine.origin import Origin, PlanAfresh
from kai.engine.plan import Plan

if TYPE_CHECKING:
    from kai import _core
    from kai.policy.declaring import Policy


@dataclass(frozen=True, slots=True)
class Wake:
    """The next time at which a plan would differ although nothing changed in the cluster.

    `reason`: "gang_stale", "job_order", "min_runtime", "pod_overdue", "preemption_delay" or
    "promise_ends".

    >>> import kai
    >>> cluster = kai.Cluster(now="2026-01-01T00:00:00Z").queue("a").node("n1", gpus=1)
    >>> cluster = cluster.releasing("a/goes", gpus=1, node="n1").pending("a/next", gpus=1)
    >>> scheduler = kai.Scheduler()
    >>> plan = scheduler.plan(cluster)
    >>> scheduler.next_wake(cluster).reason
    'pod_overdue'
    """

    at: datetime
    reason: str


@all_in_sentences
class Scheduler:
    """Plans clusters with one configuration.

    `config` is a `kai.Config`, or a mapping, the text of a YAML or JSON file, or its path, in the
    format of KAI's ``--scheduler-conf`` (spec 2 C5). Its `schedulerParams` are settings of a
    cluster: a plan of a cluster that does not have them has a warning. None: the configuration in
    each snapshot, or KAI's defaults if it has none. Unknown names in it are skipped and reported in
    the `warnings` of every plan; `kai.Config` rejects them. `as_kai` keeps KAI's behaviour in all
    switches (docs/compatibility.md). `policies` are functions declared with `kai.policy`; they
    apply with every configuration.

    Raises InvalidConfigError for a configuration that cannot be used, and for a policy that is
    none.

    >>> import kai
    >>> cluster = kai.Cluster().queue("a").node("n1", gpus=1).pending("a/x", gpus=1)
    >>> kai.Scheduler().plan(cluster).decisions
    (Bind(pod='a/x-0', node='n1', gpus=1),)
    >>> kai.Scheduler({"actions": "reclaim"}).plan(cluster).decisions
    ()
    """

    @suggesting
    def __init__(
        self,
        config: ConfigSource | None = None,
        *,
        as_kai: bool = False,
        policies: Sequence[Policy] = (),
    ) -> None:
        self._as_kai = as_kai
        self._policies = tuple(policies)
        self._most_scenarios: int | None = None  # in one action, unless the configuration says
        self._sessions: dict[str, _core.Session] = {}
        # Clusters whose memory was imported, in their compiled form of that time.
        self._recalled: WeakKeyDictionary[Cluster, _core.Cluster] = WeakKeyDictionary()
        self._config, self._params = None, dict[str, Any]()
        if config is not None:
            given, found = configuration.split(config)
            self._config, self._params = configuration.to_json(given), parameters.nested(found)
        if self._config is not None or self._policies:
            self._session(self._config or "")

    def plan(self, cluster: Cluster, *, now: datetime | str | None = None) -> Plan:
        """The decisions of one cycle for this cluster; the cluster is not changed.

        A cluster that changed (`kai.Cluster.upsert`, `.delete`) is planned again at the cost of the
        changes, separately for each scheduler. Promises of the previous plan are kept
        (docs/concepts/eviction.md), and so is the memory in a snapshot of a running kai.

        `now` is the time of the cycle, a datetime with a time zone or an RFC 3339 text; the default
        is the cluster's own time, otherwise the current time. The same input gives the same plan.
        Other Python threads run meanwhile.

        Raises InvalidInputError for an invalid time and for a snapshot that cannot be read,
        InvalidConfigError for an invalid configuration in a snapshot, BusyError if another thread
        plans the same cluster, and PolicyError if a policy fails.
        """
        if not isinstance(cluster, Cluster):
            raise wrong_type(
                f"plan() takes a kai.Cluster, not {type(cluster).__name__}; see kai.load"
            )
        now_ns = _time_of(cluster, now)
        session, compiled = self._on(cluster)
        if self._policies:
            from kai.policy.running import causes

            with causes():
                plan = session.plan(compiled, now_ns=now_ns)
        else:
            plan = session.plan(compiled, now_ns=now_ns)
        noted = cluster._warnings(nodes=lambda: (node for node, *_ in plan.nodes()))
        if self._params and not cluster._has_params(self._params):
            noted = (*noted, _OTHER_PARAMS)
        if in_other_pools := _in_other_pools(cluster, len(plan.rejected)):
            noted = (*noted, in_other_pools)
        elsewhere = cluster._pods_elsewhere()
        # Nothing else to plan, or a setting for KAI: these pods were expected in the plan.
        if elsewhere and (elsewhere.meant_for_kai or not cluster.counts["pod_groups"]):
            noted = (*noted, *elsewhere.sentences())
        return Plan(
            plan,
            input=cluster.name,
            now_ns=now_ns,
            rejected=cluster._all_rejected(plan.rejected),
            warnings=tuple(dict.fromkeys((*plan.warnings, *noted))),
            elsewhere=elsewhere,
            origin=Origin(cluster, cluster._changes, functools.partial(self._afresh, now_ns)),
        )

    def _afresh(self, now_ns: int, most_scenarios: int | None = None) -> PlanAfresh:
        """A planner with this configuration and without this scheduler's memory."""
        fresh = copy.copy(self)
        fresh._most_scenarios = most_scenarios
        no_memory: list[str] = []

        def plan(cluster: Cluster, at: str | None = None) -> Plan:
            if not no_memory:
                no_memory.append(cluster._memory or fresh.export_memory(cluster))
            fresh.import_memory(cluster, no_memory[0])
            return fresh.plan(cluster, now=at or times.to_text(now_ns))

        return plan

    # ---- from one cycle to the next --------------------------------------------------------------

    def next_wake(self, cluster: Cluster) -> Wake | None:
        """When time alone would change this scheduler's last plan of the cluster, and why.

        None: never; or the cluster has changed, so that a new plan is due now.

        >>> import kai
        >>> cluster = kai.Cluster().queue("a").node("n1", gpus=1)
        >>> kai.Scheduler().next_wake(cluster) is None
        True
        """
        session, core = self._on(cluster)
        wake = session.next_wake(core)
        return None if wake is None else Wake(times.to_datetime(wake[0]), wake[1])

    def assume_bound(
        self, cluster: Cluster, bind_request: Mapping[str, Any] | bytes | str
    ) -> int | None:
        """Assumes for this scheduler that a BindRequest under creation exists.

        The assumption ends when the cluster has the BindRequest, when its pod has a node, is gone
        or was replaced, or when `forget` gets the returned number. None: the cluster has no such
        pod.

        Raises InvalidClusterError for an invalid BindRequest, and for a cluster that names an
        object twice.
        """
        if isinstance(bind_request, Mapping):
            data = json.dumps(dict(bind_request), default=dict).encode()
        else:
            data = bind_request.encode() if isinstance(bind_request, str) else bind_request
        session, core = self._on(cluster)
        return session.assume_bound(core, data)

    def assume_evicted(
        self, cluster: Cluster, pod: str, *, now: datetime | str | None = None
    ) -> int | None:
        """Assumes for this scheduler that a pod ("namespace/name") is being deleted.

        The assumption ends when the cluster shows the deletion, when the pod is gone or was
        replaced, or when `forget` gets the returned number. `now` as for `plan`. None: there is no
        such pod.

        Raises InvalidInputError for an invalid time, and InvalidClusterError for a cluster that
        names an object twice.
        """
        session, core = self._on(cluster)
        return session.assume_evicted(core, pod, now_ns=_time_of(cluster, now))

    def forget(self, cluster: Cluster, assumption: int) -> bool:
        """Ends an assumption that did not come true: the API server rejected the request.

        False: the assumption has ended already, or the number is unknown. Raises
        InvalidClusterError for a cluster that names an object twice.
        """
        session, core = self._on(cluster)
        if not 0 <= assumption < 2**63:
            return False  # no assumption has this number
        return session.forget(core, assumption)

    def export_memory(self, cluster: Cluster) -> str:
        """The memory of this scheduler about the cluster, besides its objects, as JSON.

        It consists of assumptions, and of promises to waiting pods. A later scheduler continues
        with it (`import_memory`). Raises InvalidClusterError for a cluster that names an object
        twice.
        """
        session, core = self._on(cluster)
        return session.export_memory(core)

    def import_memory(self, cluster: Cluster, memory: str) -> None:
        """Continues with the exported memory of another scheduler; it replaces this one's memory.

        Assumptions that the cluster shows as done are dropped. Raises InvalidClusterError for
        invalid memory, and for a cluster that names an object twice.
        """
        session, core = self._on(cluster)
        session.import_memory(core, memory)

    def _on(self, cluster: Cluster) -> tuple[_core.Session, _core.Cluster]:
        core = cluster._core_cluster()
        config = core.config_json if self._config is None else self._config
        session = self._session(config)
        if cluster._memory is not None and self._recalled.get(cluster) is not core:
            session.import_memory(core, cluster._memory)
            self._recalled[cluster] = core
        return session, core

    def _session(self, config: str) -> _core.Session:
        """A session for this configuration, which is read once."""
        if config not in self._sessions:
            from kai import _core

            bounded = config
            if self._most_scenarios is not None:
                bounded = configuration.with_scenarios(config, self._most_scenarios)
            parsed = configuration.read(bounded, as_kai=self._as_kai)
            if self._policies:
                from kai.policy.running import configured

                parsed = configured(parsed, self._policies)
            self._sessions[config] = _core.Session(parsed)
        return self._sessions[config]

    def __getstate__(self) -> dict[str, Any]:
        made_again = ("_sessions", "_recalled")
        return {name: value for name, value in vars(self).items() if name not in made_again}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _sessions={}, _recalled=WeakKeyDictionary())

    def __repr__(self) -> str:
        config = "of each snapshot" if self._config is None else self._config
        also = ", as KAI" if self._as_kai else ""
        if self._policies:
            also += f", policies {', '.join(each.name for each in self._policies)}"
        return f"<kai.Scheduler, configuration {config}{also}>"


def _in_other_pools(cluster: Cluster, rejected: int) -> str:
    """A warning if all nodes are in node pools that the plan is not for; "" otherwise."""
    if rejected or cluster.counts["nodes"] or not cluster.counts["pod_groups"]:
        return ""
    pools = {labels_of(node).get(keys.NODE_POOL_LABEL) for node in cluster._all("Node").values()}
    names = sorted(map(str, filter(None, pools)))
    if not names:
        return ""
    return (
        f"all nodes are in other node pools ({text.listing(names)}, by their label "
        f"{keys.NODE_POOL_LABEL}), so the plan has none: set partitionParams in schedulerParams"
    )


_OTHER_PARAMS = (
    "the cluster has not the schedulerParams of the configuration, so the plan does not use them:"
    " write cluster.configure(config)"
)


def _time_of(cluster: Cluster, now: datetime | str | None) -> int:
    if now is not None:
        return times.to_ns(now)
    # Whole seconds, like all time stamps of KAI.
    clock_ns = int(time.time()) * times.SECOND_NS
    return clock_ns if cluster._now_ns is None else cluster._now_ns
