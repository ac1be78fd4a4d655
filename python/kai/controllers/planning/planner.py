"""The planning thread: applies watch events, groups pods, plans, and writes verdicts.

    planner = Planner(make_core(options), options)
    turn = planner.turn(Inputs(now_ns=now_ns))        # on the one worker thread

It does no I/O. It returns plain values: the event loop sends writes while the next turn runs. All
data of a plan must be read in the turn that created it, because the next turn changes its cluster.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kai.api import keys
from kai.api.reading import annotations_of
from kai.api.writes import Outcome, Result, Write
from kai.controllers import unshown, verdicts
from kai.controllers.courses import Ask
from kai.controllers.grouper import Assignment, Decided, GroupChange, Grouper
from kai.controllers.planning.core import Core, not_used
from kai.controllers.planning.figures import Figures
from kai.controllers.planning.kinds import needed_by
from kai.controllers.planning.lines import Line
from kai.controllers.planning.misfits import Misfits
from kai.controllers.planning.options import PlanningOptions
from kai.controllers.planning.rejecting import Families, Rejections
from kai.controllers.planning.seen import FeedSeen
from kai.controllers.planning.statuses import Statuses
from kai.controllers.planning.turns import Inputs, State, Turn
from kai.controllers.pods.bind_requests import Request, Target, pod_annotations, spec_of
from kai.controllers.pods.decisions import Binding, Removal
from kai.controllers.unshown import Accepted, Unshown
from kai.controllers.verdicts import Event, Eviction, Verdicts
from kai.controllers.waits import FIRST_S, MOST_S, Waits
from kai.engine.plan import Plan
from kai.engine.values import Bind, Evict

if TYPE_CHECKING:
    from kai import _core
    from kai.k8s.sinks import Sink


class Planner:
    """The state of the planning thread.

    `on_nodes` is called in a turn, before planning, with the nodes that changed, were deleted, or
    got or lost a pod of another scheduler. `only_new`: pods that name their pod group are ignored,
    and their owners too: a process that writes nothing has no groups to update.
    """

    def __init__(
        self,
        core: Core,
        options: PlanningOptions,
        on_nodes: Callable[[Sequence[str]], None] = lambda nodes: None,
        *,
        only_new: bool = False,
    ) -> None:
        self._core, self._options = core, options
        self._on_nodes, self._only_new = on_nodes, only_new
        self._seen = FeedSeen(core.feed, options.node_pool)
        self._grouper: Grouper | None = None
        if options.has("pod-grouper"):
            self._grouper = Grouper(scheduler_name=options.scheduler_name)
        self._plans = options.has("scheduler")
        self._needed = needed_by(options.roles, not_used(options))
        self._verdicts = Verdicts(options.node_pool)
        self._bound: list[Binding] = []  # accepted since the last turn as the leader
        self._reads_all = True  # the next plan is the first one that is read
        self._figures = Figures() if self._plans else None
        self._statuses = Statuses(
            core.feed,
            groups=options.has("pod-group-controller"),
            queues=options.has("queue-controller"),
        )
        self._cycle = 0
        self._led = False
        self._serves_claims: bool | None = None
        self._touched: set[str] = set()  # groups that changed since the last plan
        self._assigned: dict[str, Assignment] = {}  # pods that do not name their group yet
        self._planned: dict[str, Mapping[str, Any]] = {}  # groups that are not created yet
        self._refused_groups: set[str] = set()  # of them, those whose creation failed
        self._ungrouped = 0  # pods that changed since groups were decided
        # By pod, the event of an eviction under way: its pod group may be deleted before the
        # answer.
        self._evictions: dict[str, Event] = {}
        self._rejections = Rejections()
        self._families = Families()
        self._misfits = Misfits()
        # Groups, or families, for which a pod could not be evicted, or whose pod a node refused
        self._refusals: Waits[str] = Waits()
        # By group, refusals that are still to be reported: the group may not exist at the API
        # server yet.
        self._refused: dict[str, tuple[Eviction, str]] = {}
        self._unshown = Unshown()

    def sinks(self) -> dict[str, list[Sink]]:
        """Further sinks, by kind: they must get all that the feed gets."""
        return self._statuses.sinks()

    def turn(self, inputs: Inputs) -> Turn:
        started = time.perf_counter()
        now = inputs.now_s
        turn = Turn()
        from_ns, until_ns = inputs.trusted_ns
        self._core.session.trust(self._core.cluster, from_ns=from_ns, until_ns=until_ns)
        for assumption in inputs.forgotten:
            self._core.session.forget(self._core.cluster, assumption)
        for data in inputs.looked_at:
            self._core.cluster.upsert(data)
        read = [(accepted, self._show(accepted, found)) for accepted, found in inputs.read]
        if inputs.usage is not None:
            self._core.cluster.set_usage(inputs.usage)
        if inputs.serves_claims != self._serves_claims:
            self._serves_claims = inputs.serves_claims
            self._core.cluster.serve_claims(inputs.serves_claims)
        drained = self._core.feed.drain()
        turn.synced = frozenset(drained.synced)
        turn.gone = drained.gone
        turn.gpu_users, turn.is_scaling_up = drained.gpu_users, drained.is_scaling_up
        turn.shown, turn.relisted = drained.shown, drained.relisted
        if drained.nodes:
            self._on_nodes(drained.nodes)
        for each in self._misfits.new(drained.rejected):
            fields = dict(zip(("kind", "name", "field", "why"), each, strict=True))
            turn.lines.append(Line("warning", "an object cannot be used", fields))
        for kind, name, _ in drained.gone:
            self._misfits.gone(kind, name)
        self._statuses.touch(now, drained.groups, drained.queues)
        for write, outcome in inputs.answers:
            self._statuses.answered(now, write, outcome)
        self._touched.update(drained.groups)
        self._measure(turn, drained, inputs)
        for accepted, manifest in read:
            self._judge(turn, accepted, manifest)
        self._note_accepted(now, inputs)
        self._check(turn, inputs.to_check)
        turn.targets = self._targets(inputs.requests)
        self._avoid_nodes(turn, drained, inputs, now)
        leads = inputs.plans and turn.synced >= self._needed
        if self._grouper is not None:
            turn.grouped = self._group(self._grouper, drained, inputs, leads and not inputs.ends)
        taken_in = time.perf_counter()
        self._bound += inputs.bound
        if inputs.plans != self._led:
            self._led = inputs.plans
            self._verdicts = Verdicts(self._options.node_pool, self._verdicts)
            self._reads_all = True
            self._misfits.begin()
            if self._figures is not None:
                self._figures.planned(None)
        if leads:
            self._decide(turn, inputs, now)
        else:
            for write, outcome in inputs.answers:
                self._verdicts.answer(now, write, outcome)
        turn.queue_sums, turn.right = self._statuses.queue_sums, self._statuses.take_right()
        if self._grouper is not None:
            self._ungrouped += len(drained.pods)
            if leads:
                turn.right["pod"] = max(0, self._ungrouped - len(turn.grouped.problems))
                self._ungrouped = 0
        turn.timing_ms["open"] = (taken_in - started) * 1000
        turn.timing_ms["total"] = (time.perf_counter() - started) * 1000
        return turn

    def state(self) -> State:
        memory = self._core.session.export_memory(self._core.cluster)
        planned = {
            name: each for name, each in self._planned.items() if name not in self._refused_groups
        }
        assigned = dict(self._assigned)
        cluster = self._core.cluster
        return State(memory, planned, assigned, self._cycle, cluster.ages(), cluster.usage())

    # ---- what no watch has shown -----------------------------------------------------------------

    def _note_accepted(self, now: float, inputs: Inputs) -> None:
        """Writes that the API server has accepted: a watch must soon show them."""
        add = self._unshown.add
        for each in inputs.bound:
            if not each.request:
                add(now, Accepted(unshown.BINDING, "Pod", each.pod, each.uid, each.assumption))
        for removal in inputs.evicted:
            order = removal.order
            add(now, Accepted(unshown.EVICTION, "Pod", order.pod, order.uid, removal.assumption))
        for write, outcome in inputs.answers:
            if outcome.result is not Result.DONE:
                continue
            if isinstance(write.about, Assignment):
                add(now, Accepted(unshown.GROUP_OF_POD, "Pod", write.about.pod, write.about.uid))
            elif write.kind == "PodGroup" and write.verb == "create":
                add(now, Accepted(unshown.GROUP, "PodGroup", f"{write.namespace}/{write.name}"))

    def _ahead(self) -> Callable[[Accepted], bool]:
        """Whether decisions are still ahead of what the watches have shown."""
        assumed: set[int] | None = None

        def is_ahead(each: Accepted) -> bool:
            nonlocal assumed
            if each.number:
                if assumed is None:
                    assumed = self._assumed()
                return each.number in assumed
            if each.kind == "PodGroup":
                has = self._core.cluster.has("PodGroup", each.name)
                return has and self._core.feed.group_facts([each.name])[0] is None
            known = self._assigned.get(each.name)
            return known is not None and known.uid == each.uid

        return is_ahead

    def _assumed(self) -> set[int]:
        """The numbers of all assumptions."""
        memory = json.loads(self._core.session.export_memory(self._core.cluster))["assumed"]
        return {each["id"] for kind in ("bound", "evicted") for each in memory[kind]}

    def _show(self, accepted: Accepted, found: bytes | None) -> Mapping[str, Any] | None:
        """Takes in a read. Returns the object; None: it is gone, or another one has its name."""
        manifest: Mapping[str, Any] | None = None if found is None else json.loads(found)
        if manifest is None or accepted.uid not in ("", manifest["metadata"]["uid"]):
            self._is_gone(accepted)
            return None
        self._core.feed.show(accepted.kind, found or b"")
        return manifest

    def _judge(self, turn: Turn, accepted: Accepted, found: Mapping[str, Any] | None) -> None:
        """What a read shows counts: an assumption ends, whether it has come true or not."""
        core, name = self._core, accepted.name
        if accepted.number:
            if core.session.forget(core.cluster, accepted.number) and found is not None:
                self._had_no_effect(turn, accepted)
                self._touch(name)
        elif accepted.kind == "PodGroup":
            if found is None:
                self._had_no_effect(turn, accepted)
        elif found is not None and self._grouper is not None:
            known = self._assigned.get(name)
            named = annotations_of(found).get(keys.POD_GROUP_ANNOTATION)
            if known is not None and known.uid == accepted.uid and named != known.group:
                self._had_no_effect(turn, accepted)
                self._grouper.retry(known)

    def _had_no_effect(self, turn: Turn, accepted: Accepted) -> None:
        turn.without_effect.append(accepted)
        message = "the API server accepted a write that had no effect; it is decided again"
        turn.lines.append(Line("warning", message, {"what": accepted.what, "name": accepted.name}))

    def _is_gone(self, accepted: Accepted) -> None:
        """A read has shown that the object does not exist, or not any more."""
        if accepted.kind == "PodGroup":
            if self._grouper is not None:
                self._grouper.group_gone(accepted.name)
            return
        [facts] = self._core.feed.pod_facts([accepted.name])
        if facts is not None and facts[0] == accepted.uid:
            self._core.cluster.delete("Pod", accepted.name)

    def _touch(self, pod: str) -> None:
        """The verdict about the group of this pod may have changed."""
        [facts] = self._core.feed.pod_facts([pod])
        if facts is not None:
            self._touched.add(f"{pod.partition('/')[0]}/{facts[6]}")

    # ---- what the cluster did meanwhile ----------------------------------------------------------

    def _measure(self, turn: Turn, drained: _core.Drained, inputs: Inputs) -> None:
        figures = self._figures
        if figures is None:
            return
        figures.saw(drained.pods)
        figures.gone((name for kind, name, _ in drained.gone if kind == "Pod"), self._core.feed)
        moments = inputs.bound_at or [inputs.now_ns / 1e9] * len(inputs.bound)
        turn.waited = figures.bound((each.pod for each in inputs.bound), moments)

    def _check(self, turn: Turn, to_check: Sequence[Ask]) -> None:
        """Decides again on bindings that were held back and do not hold any more."""
        if not to_check:
            return
        cluster, _, session = self._core
        turn.to_check = to_check
        turn.broken = session.broken(cluster, [each.about.assumption for each in to_check])
        for assumption in turn.broken:
            session.forget(cluster, assumption)

    def _targets(self, requests: Sequence[Request]) -> list[tuple[Request, Target]]:
        cluster, feed, _ = self._core
        names = [each.pod for each in requests]
        facts, waits = feed.pod_facts(names), feed.wait_for_volumes(names)
        found = []
        for each, pod, waits_for in zip(requests, facts, waits, strict=True):
            uid, node = ("", "") if pod is None else pod[:2]
            found.append((each, Target(uid, node, cluster.has("Node", each.node), waits_for)))
        return found

    def _avoid_nodes(self, turn: Turn, drained: _core.Drained, inputs: Inputs, now: float) -> None:
        """For a while, groups avoid nodes that rejected one of their pods, and nodes to which one
        of their pods could not be bound. Nor do they evict pods, as the room was of no use."""
        for pod, _, group, node, reason, message in drained.failed:
            until = self._rejections.failed(now, self._families.of(group), node, reason)
            if until is not None:
                fields = {"node": node, "pod": pod, "reason": reason, "why": message}
                self._was_refused(turn, inputs, "a node rejected a pod", fields, group, until)
        for bindings, message, longest in (
            (inputs.refused, "a binding to a node was refused", MOST_S),
            (inputs.stuck, "a pod cannot be bound, and leaves its room to others", FIRST_S),
        ):
            groups = self._groups_of([each.pod for each, _ in bindings])
            for (binding, why), group in zip(bindings, groups, strict=True):
                if not group:
                    continue
                family = self._families.of(group)
                until = self._rejections.refused(now, family, binding.node, longest)
                fields = {"node": binding.node, "pod": binding.pod, "why": why}
                self._was_refused(turn, inputs, message, fields, group, until)
        for family, nodes in self._rejections.changed(now).items():
            for group in self._waiting_of(family):
                self._core.cluster.avoid(group, nodes)

    def _was_refused(
        self,
        turn: Turn,
        inputs: Inputs,
        message: str,
        fields: Mapping[str, Any],
        group: str,
        until: float,
    ) -> None:
        """A node did not take a pod of the group, which avoids that node until then."""
        self._hold_off(inputs, group)
        avoided = {"group": group, "avoided_for_s": round(until - inputs.now_s)}
        turn.lines.append(Line("warning", message, {**fields, **avoided}))

    def _waiting_of(self, family: str) -> list[str]:
        """The groups of a family that have no resources; a group without a family as it is."""
        groups = self._families.groups(family)
        if groups == [family]:
            return groups
        sums = self._core.feed.group_status(groups)
        return [group for group, each in zip(groups, sums, strict=True) if not (each and each[1])]

    def _hold_off(self, inputs: Inputs, group: str) -> float:
        """The group evicts no pod until the returned time."""
        until = self._refusals.begin(inputs.now_s, self._families.of(group))
        delay_ns = int((until - inputs.now_s) * 1e9)
        self._core.cluster.hold_off(group, since_ns=inputs.now_ns, delay_ns=delay_ns)
        return until

    def _inherit(self, inputs: Inputs, group: str) -> None:
        """A new group avoids what earlier groups of its family avoid."""
        family = self._families.of(group)
        if family == group:
            return
        if family in self._refusals:
            self._hold_off(inputs, group)
        if nodes := self._rejections.avoided().get(family):
            self._core.cluster.avoid(group, nodes)

    def _spare(self, turn: Turn, inputs: Inputs, now: float) -> None:
        """After rejected evictions, the groups that needed the resources evict no pods for a
        while."""
        for family in self._refusals.ended(now):
            for group in self._families.groups(family):
                self._refused.pop(group, None)
        for removal, why in inputs.spared:
            order = removal.order
            self._evictions.pop(order.pod, None)
            if self._families.of(order.waits) in self._refusals:
                continue  # already reported: of several victims, the first is the obstacle
            until = self._hold_off(inputs, order.waits)
            self._refused[order.waits] = (order, why)
            fields = {"pod": order.pod, "group": order.waits, "waits_for_s": round(until - now)}
            turn.lines.append(Line("info", "a pod was not evicted", {**fields, "why": why}))
        for group, (order, why) in list(self._refused.items()):
            if self._seen.group(group) is not None:
                del self._refused[group]
                self._take(turn, self._verdicts.spared(now, order, why, self._seen))

    # ---- groups ----------------------------------------------------------------------------------

    def _group(
        self, grouper: Grouper, drained: _core.Drained, inputs: Inputs, leads: bool
    ) -> Decided:
        for name, data in drained.pods:
            pod = json.loads(data)
            if named := annotations_of(pod).get(keys.POD_GROUP_ANNOTATION):
                known = self._assigned.get(name)
                if self._only_new and known is None:
                    continue
                if known is not None and (self._only_new or known.group == named):
                    del self._assigned[name]
            grouper.put_pod(pod)
        # After the pods: a pod that came and went at once is gone, and a new one of its name stays.
        for kind, name, uid in drained.gone:
            if kind == "Pod":
                grouper.pod_gone(name, uid)
                known = self._assigned.get(name)
                if known is not None and known.uid == uid:
                    del self._assigned[name]
            else:
                grouper.group_gone(name, uid)
                self._is_not_planned(name)
                self._families.gone(name)
        for reference, found in inputs.owners:
            if found is None:
                grouper.object_gone(reference)
            elif isinstance(found, bool):
                grouper.object_forbidden(reference)
            else:
                grouper.put_object(reference, found)
        for write, outcome in inputs.answers:
            _answer_grouper(grouper, write, outcome)
            if write.kind == "PodGroup":
                self._group_answered(grouper, write, outcome.result)
        if inputs.rules is not None:
            grouper.set_rules(inputs.rules)
        if not leads:
            return Decided()
        decided = grouper.decide()
        self._put_in_plan(decided, inputs)
        return decided

    def _group_answered(self, grouper: Grouper, write: Write, result: Result) -> None:
        """A group that cannot be created is taken out of the plans, so that its pods take no room
        from others. It is tried again, and a watch shows it once it exists."""
        name = f"{write.namespace}/{write.name}"
        if result in (Result.DONE, Result.CONFLICT):
            self._is_not_planned(name)
            if write.verb == "create" and result is Result.DONE:
                grouper.group_created(name)
        elif write.verb == "create" and result is not Result.LOST and name in self._planned:
            self._refused_groups.add(name)
            self._core.cluster.withdraw("PodGroup", name)

    def _is_not_planned(self, name: str) -> None:
        self._planned.pop(name, None)
        self._refused_groups.discard(name)

    def _put_in_plan(self, decided: Decided, inputs: Inputs) -> None:
        """Decisions of the grouper count at once."""
        cluster = self._core.cluster
        for name in decided.withdrawn:
            cluster.withdraw("PodGroup", name)
            self._is_not_planned(name)
            self._families.gone(name)
        for change in decided.groups:
            manifest = {**change.manifest, "kind": "PodGroup"}
            if change.patch is None:
                self._families.created(change.name, manifest)
                self._inherit(inputs, change.name)
            data = json.dumps(manifest).encode()
            is_refused = change.name in self._refused_groups
            if is_refused or cluster.upsert_planned(data) is not None:
                self._planned[change.name] = manifest
        for hold in decided.holds:
            cluster.assign(hold.pod, hold.uid, hold.group, "")
        for each in decided.assignments:
            self._assigned[each.pod] = each
            cluster.assign(each.pod, each.uid, each.group, each.sub_group)

    # ---- the plan --------------------------------------------------------------------------------

    def _decide(self, turn: Turn, inputs: Inputs, now: float) -> None:
        if self._plans:
            verdicts = self._verdicts
            verdicts.shift(inputs.shift_ns / 1e9)
            for kind, name, uid in turn.gone:
                verdicts.gone(kind, name, uid)
            for write, outcome in inputs.answers:
                verdicts.answer(now, write, outcome)
            bound, self._bound = self._bound, []
            for binding in bound:
                facts = self._seen.pod(binding.pod)
                if facts is not None and facts.uid == binding.uid:
                    where, here = (binding.pod, binding.node), self._is_bound_here(binding)
                    self._take(turn, verdicts.bound(now, *where, self._seen, here=here))
            for binding, why in inputs.failed:
                where, here = (binding.pod, binding.node), self._is_bound_here(binding)
                self._take(turn, verdicts.binding_failed(now, *where, why, self._seen, here=here))
            for removal in inputs.evicted:
                decided = verdicts.evicted(now, removal.order, self._seen)
                event = self._evictions.pop(removal.order.pod, None)
                if event is not None and not decided.events:
                    decided.events.append(event)
                self._take(turn, decided)
            self._spare(turn, inputs, now)
            wake = None if inputs.ends else self._plan(turn, inputs, now)
            if self._figures is not None:
                turn.shares = self._figures.shares(now)
        else:
            wake = None
        turn.writes += self._statuses.due(now)
        turn.unshown = self._unshown.due(now, self._ahead())
        for moment in (
            self._unshown.next(),
            self._verdicts.wake(now),
            self._statuses.wake(),
            self._rejections.next(),
            self._refusals.next(),
            None if self._figures is None else self._figures.wake(),
            self._misfits.wake() if self._plans else None,
        ):
            if moment is not None:
                at_ns = int(moment * 1e9) + inputs.shift_ns
                wake = at_ns if wake is None else min(wake, at_ns)
        turn.wake_ns = wake

    def _plan(self, turn: Turn, inputs: Inputs, now: float) -> int | None:
        cluster, _, session = self._core
        now_ns = inputs.now_ns
        until_ns = inputs.trusted_ns[1]
        turn.planned = session.has_changed(cluster) or self._is_time(min(now_ns, until_ns))
        more = self._misfits.is_due(now) or self._verdicts.is_late(self._touched)
        if not turn.planned and not more:
            self._take(turn, self._verdicts.due(now))
            if inputs.questions:  # the last plan still holds
                compiled = session.plan(cluster, now_ns=now_ns)
                self._tell(turn, inputs, Plan(compiled, input=None, now_ns=now_ns))
            return self._next_wake(until_ns)
        if turn.planned:  # otherwise the last plan is read once more
            self._cycle += 1
            turn.cycle = self._cycle
        compiled = session.plan(cluster, now_ns=now_ns)
        plan = Plan(compiled, input=None, now_ns=now_ns)
        changed = None if self._reads_all else self._touched
        self._tell(turn, inputs, plan)
        bad = self._look_at_misfits(turn, compiled, now)
        late = self._late_starts(plan, inputs.held_back)
        avoided = self._avoided(plan)
        decided = self._verdicts.decide(
            now, plan, self._seen, changed, late=late, avoided=avoided, **bad
        )
        self._take(turn, decided)
        self._reads_all, self._touched = False, set()
        if compiled.decision_count:
            self._carry_out(turn, plan, now_ns)
        if self._figures is not None:
            self._figures.planned(compiled)
        turn.waiting = compiled.counts()["waiting"]
        turn.timing_ms |= {f"plan_{name}": ns / 1e6 for name, ns in compiled.timing_ns().items()}
        wake = session.next_wake(cluster)
        self._wake_ns = None if wake is None else wake[0]
        return self._next_wake(until_ns)

    def _tell(self, turn: Turn, inputs: Inputs, plan: Plan) -> None:
        """Before the decisions are assumed: after that, reading the plan would make it again."""
        turn.told = [question(plan) for question in inputs.questions]

    def _next_wake(self, until_ns: int) -> int | None:
        """None: the plan does not change with time, or not before more of the time is trusted."""
        return None if self._wake_ns is None or self._wake_ns > until_ns else self._wake_ns

    def _late_starts(self, plan: Plan, held_back: Collection[str]) -> set[str]:
        """Groups that start none of their pods now: the plan binds only pods that are held back."""
        if not held_back:
            return set()
        late = frozenset(held_back)
        pods = [each.pod for each in plan.decisions if isinstance(each, Bind)]
        groups: dict[bool, set[str]] = {True: set(), False: set()}
        for pod, group in zip(pods, self._groups_of(pods), strict=True):
            if group:
                groups[pod in late].add(group)
        return groups[True] - groups[False]

    def _avoided(self, plan: Plan) -> verdicts.Avoided | None:
        by_families = self._rejections.avoided()
        if not by_families:
            return None
        by_groups = {
            group: nodes
            for family, nodes in by_families.items()
            for group in self._families.groups(family)
        }
        pods = list(plan.pods)
        groups = zip(pods, self._groups_of(pods), strict=True)
        by_pods = {pod: by_groups[group] for pod, group in groups if group in by_groups}
        return verdicts.Avoided(by_groups, by_pods)

    def _groups_of(self, pods: list[str]) -> list[str]:
        """The pod group of each pod, "namespace/name"; "" for a pod that is gone or has none."""
        found = []
        for pod, facts in zip(pods, self._core.feed.pod_facts(pods), strict=True):
            assigned = self._assigned.get(pod)
            name = "" if facts is None else facts[6] if assigned is None else assigned.group
            found.append(f"{pod.partition('/')[0]}/{name}" if name else "")
        return found

    def _look_at_misfits(
        self, turn: Turn, plan: _core.Plan, now: float
    ) -> dict[str, Mapping[str, str]]:
        """The problems of pods and pod groups, by name. The node pool of an unreadable object is
        unknown: the scheduler of the default pool reports it."""
        if self._options.node_pool:
            return {}
        found, feed = self._misfits, self._core.feed
        found.look(now, plan.rejected, feed.stranded)
        turn.events += found.events()
        names = list(found.pods)
        waiting = {
            name: found.pods[name]
            for name, facts in zip(names, feed.pod_facts(names), strict=True)
            if facts is not None and not facts[1]  # it has no node
        }
        return {"bad_pods": waiting, "bad_groups": found.groups}

    _wake_ns: int | None = 0

    def _is_time(self, now_ns: int) -> bool:
        return self._wake_ns is not None and now_ns >= self._wake_ns

    def _carry_out(self, turn: Turn, plan: Plan, now_ns: int) -> None:
        orders: dict[str, Eviction] = {}
        removals: dict[str, Removal] = {}
        for each in verdicts.evictions(plan, self._seen):
            orders.setdefault(each.pod, each)
        numbers = self._core.session.assume_plan(self._core.cluster, plan._compiled, now_ns=now_ns)
        uids = self._core.feed.pod_facts([each.pod for each in plan.decisions])
        for decision, number, facts in zip(plan.decisions, numbers, uids, strict=True):
            if number is None or facts is None:
                continue
            if isinstance(decision, Bind):
                turn.bindings.append(self._binding(decision, facts[0], facts[6], number))
            elif isinstance(decision, Evict) and decision.pod in orders:
                order = orders[decision.pod]
                if order.for_group is None and order.group in self._refusals:
                    self._core.session.forget(self._core.cluster, number)
                    continue  # of a stale gang, which has no preemption delay
                # A pod that moves can be evicted again, as in KAI: the later number counts.
                removals[decision.pod] = Removal(order, number)
                group = self._seen.group(order.group)
                if group is not None and order.message:
                    self._evictions[order.pod] = order.event(group.uid)
        turn.removals += removals.values()

    def _binding(self, bind: Bind, uid: str, group: str, number: int) -> Binding:
        spec = spec_of(bind)
        [waits] = self._core.feed.wait_for_volumes([bind.pod])
        # A BindRequest has them in its spec.
        annotations = pod_annotations({}, spec) if self._options.binding == "direct" else {}
        if bind.topology_rank is not None:
            annotations[keys.TOPOLOGY_RANK_ANNOTATION] = str(bind.topology_rank)
            if bind.topology_domain is not None:
                annotations[keys.TOPOLOGY_DOMAIN_ANNOTATION] = bind.topology_domain
        assigned = self._assigned.get(bind.pod)
        if assigned is None or assigned.uid != uid:
            where = (bind.pod, uid, bind.node, number, group)
            return Binding(*where, annotations=annotations, spec=spec, waits_for_volumes=waits)
        if self._options.binding == "direct":
            more = assigned.patch.get("annotations", {})
            annotations |= {key: more[key] for key in more if key != keys.POD_GROUP_ANNOTATION}
        return Binding(
            *(bind.pod, uid, bind.node, number, assigned.group, assigned.sub_group),
            names_group=False,
            annotations=annotations,
            spec=spec,
            waits_for_volumes=waits,
        )

    def _is_bound_here(self, binding: Binding) -> bool:
        return self._options.binding == "direct" and not binding.request

    def _take(self, turn: Turn, decided: verdicts.Decided) -> None:
        turn.writes += decided.writes
        turn.events += decided.events
        turn.evicted += decided.evicted


def _answer_grouper(grouper: Grouper, write: Write, outcome: Outcome) -> None:
    """Reports the outcome of a grouper's write."""
    about, result = write.about, outcome.result
    if write.kind == "PodGroup" and write.verb == "create" and result is Result.CONFLICT:
        grouper.group_exists(f"{write.namespace}/{write.name}")
    elif isinstance(about, GroupChange) and result is not Result.DONE:
        if result is Result.GONE:
            grouper.group_gone(about.name)
        elif result is Result.REFUSED:
            grouper.group_refused(about.name, outcome.message)
        else:
            grouper.retry(about)
