"""Changes of a cluster on the command line: ``kai plan --what-if`` writes the plan of a changed
cluster beside that of the cluster as it is, and ``kai compare`` simulates a changed workload."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import os
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from kai.api import keys, quantities
from kai.api.naming import naming
from kai.api.nearest import check_known, did_you_mean
from kai.api.reading import annotations_of, at, node_of
from kai.cli.adding import Command, added
from kai.cli.failures import ANSWER_IS_NO
from kai.cli.output import Answer, Answers
from kai.cli.work import Warner, patiently
from kai.errors import InvalidInputError, NotFoundError

if TYPE_CHECKING:
    from kai.engine.cluster import Cluster, Rejected
    from kai.engine.differences import PlanDiff
    from kai.engine.plan import Plan
    from kai.sim.workload import NodePool, Queue


@dataclass(frozen=True, slots=True)
class _Field:
    """A field of a queue: the option of `kai.Cluster.update_queue`, and the member of
    `kai.sim.workload.Queue`, which counts in `unit`."""

    option: str
    member: str
    unit: int = 1


_QUEUE_FIELDS = {
    "quota": _Field("deserved_gpus", "deserved_gpus"),
    "limit": _Field("gpu_limit", "limit_gpus"),
    "cpu.quota": _Field("deserved_cpus", "deserved_cpu"),
    "cpu.limit": _Field("cpu_limit", "limit_cpu"),
    "memory.quota": _Field("deserved_memory", "deserved_memory_mib", 2**20),
    "memory.limit": _Field("memory_limit", "limit_memory_mib", 2**20),
    "weight": _Field("weight", "weight"),
    "priority": _Field("priority", "priority"),
    "parent": _Field("parent", "parent"),
}
"""What `--queue NAME.FIELD=VALUE` may set."""


@dataclass(frozen=True, slots=True)
class WhatIf:
    """The changes of the command line. `manifests`: files to submit, "" for none; `more`: numbers
    of nodes with the node to copy; `queues`: texts such as "vision.quota=12"."""

    manifests: tuple[str, ...]
    more: tuple[tuple[int, str], ...]
    drain: tuple[str, ...]
    queues: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.manifests or self.changes)

    @property
    def changes(self) -> bool:
        """Whether anything changes beside the manifests."""
        return bool(self.more or self.drain or self.queues)

    def check(self) -> None:
        """Raises click.UsageError if nothing changes."""
        if self.manifests and not (any(self.manifests) or self.changes):
            raise click.UsageError(
                "--what-if needs a change: FILE (manifests to submit), --add-nodes, --drain or"
                " --queue"
            )

    def __str__(self) -> str:
        """
        >>> str(WhatIf((), ((10, "a100"),), ("r2",), ("vision.quota=12",)))
        '10 more nodes like a100, r2 drained, vision.quota=12'
        """
        more = [f"{count} more node{'s' * (count > 1)} like {like}" for count, like in self.more]
        return ", ".join((*more, *(f"{each} drained" for each in self.drain), *self.queues))

    def apply(self, cluster: Cluster) -> _Changed:
        """Changes a copy of the cluster. Raises NotFoundError for an unknown node or queue."""
        changed = cluster.copy()
        for count, like in self.more:
            with naming("--like"):
                changed.add_nodes(count, like=like)
        nodes = {each["metadata"]["name"]: each["metadata"] for each in cluster.objects["nodes"]}
        labels = {name: metadata.get("labels") or {} for name, metadata in nodes.items()}
        running = {
            name for name, pod in changed._all("Pod").items() if self.drain and _can_be_lost(pod)
        }
        for each in self.drain:
            with naming(f"--drain {each}"):
                changed.drain(*_matching(labels, each))
        lost = tuple(sorted(running.difference(changed._all("Pod"))))
        last: dict[str, str] = {}
        for each in self.queues:
            with naming(f"--queue {each}"):
                name, field, value = _queue_change(each)
                changed.update_queue(name, **{field.option: value})
                last[name] = each
        for name, each in last.items():
            with naming(f"--queue {each}"):
                _check_quotas(cluster._find("Queue", name), changed._find("Queue", name))
        if not any(self.manifests):
            return _Changed(changed, frozenset(), lost)
        from kai.snapshot import load

        before = {kind: dict(changed._all(kind)) for kind in ("PodGroup", "Pod")}
        for file in filter(None, self.manifests):
            load(file, into=changed)
        return _Changed(changed, frozenset(_changed_groups(changed, before)), lost)

    def nodes(self, pools: Sequence[NodePool]) -> tuple[NodePool, ...]:
        """The changed nodes of a workload. Raises NotFoundError for an unknown node."""
        from kai.sim import pools as changes
        from kai.sim.node_pools import labels_of

        changed = tuple(pools)
        for count, like in self.more:
            with naming("--like"):
                changed = changes.with_more(changed, count, like)
        labels = {name: dict(labels_of(pool)) for pool in pools for name in pool.names()}
        whole = {pool.name: pool.names() for pool in pools}
        drained: set[str] = set()
        for each in self.drain:
            with naming(f"--drain {each}"):
                drained.update(whole.get(each) or _matching(labels, each))
        gone = {pool.name: len(drained.intersection(pool.names())) for pool in pools}
        with naming("--drain"):
            return changes.without(changed, gone)

    def queues_of(self, queues: Sequence[Queue]) -> tuple[Queue, ...]:
        """The changed queues of a workload. Raises NotFoundError for an unknown queue."""
        from kai.sim.workload import changed as with_changes

        changed = tuple(queues)
        for each in self.queues:
            with naming(f"--queue {each}"):
                name, field, value = _queue_change(each)
                _check_queue(name, changed)
                made = _of_workload(field, value)
                if field.member == "parent" and made:
                    _check_queue(made, changed)
                changed = with_changes("queue", changed, name, {field.member: made})
        return changed


@dataclass(frozen=True, slots=True)
class _Changed:
    """`submitted`: the pod groups of the manifests, also those that the cluster had before.
    `lost`: the running pods that nothing creates again."""

    cluster: Cluster
    submitted: frozenset[str]
    lost: tuple[str, ...]


_SUBMITTED = click.option(
    "--what-if",
    "manifests",
    metavar="[FILE]",
    is_flag=False,
    flag_value="",
    multiple=True,
    help="Compare with a changed cluster: manifests to submit, and the options below.",
)
_CHANGES = added(
    click.option(
        "--add-nodes",
        metavar="N",
        type=click.IntRange(1, 100_000),
        multiple=True,
        help="What if there were N more nodes: copies of the one that --like names.",
    ),
    click.option(
        "--like", metavar="NODE", multiple=True, help="With --add-nodes: the node to copy."
    ),
    click.option(
        "--drain",
        metavar="NODE",
        multiple=True,
        help="What if a node were drained, or all nodes with LABEL=VALUE, such as those of a rack.",
    ),
    click.option(
        "--queue",
        "queues",
        metavar="NAME.FIELD=VALUE",
        multiple=True,
        help="What if a queue had another quota, limit, weight, priority or parent:"
        " vision.quota=12.",
    ),
)


def change_options(command: Command) -> Command:
    """Passes a command the argument `what_if`; it is false without a change."""

    @functools.wraps(command)
    def with_changes(
        *given: Any,
        add_nodes: tuple[int, ...],
        like: tuple[str, ...],
        drain: tuple[str, ...],
        queues: tuple[str, ...],
        manifests: tuple[str, ...] = (),
        **options: Any,
    ) -> object:
        if add_nodes and not like:
            raise click.UsageError("--add-nodes needs --like NODE: a node to copy")
        if like and not add_nodes:
            raise click.UsageError("--like needs --add-nodes N: how many copies")
        if len(like) != len(add_nodes):
            raise click.UsageError(
                f"--add-nodes is given {_times(add_nodes)} and --like {_times(like)}: write one"
                " --like for each --add-nodes, in the same order"
            )
        fields = [each.partition("=")[0] for each in queues]
        for field in fields:
            if fields.count(field) > 1:
                raise click.UsageError(f"--queue is given {field} more than once: write one value")
        what_if = WhatIf(manifests, tuple(zip(add_nodes, like, strict=True)), drain, queues)
        what_if.check()
        return command(*given, what_if=what_if, **options)

    made: Any = _CHANGES(with_changes)
    return made  # type: ignore[no-any-return]


def what_if_options(command: Command) -> Command:
    """The same for a command that also submits manifests."""
    return _SUBMITTED(change_options(command))


class WithChanges(click.Command):
    """A command that refuses a second value after --what-if, --drain or --queue: it would be an
    INPUT, and so part of the cluster as it is."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        given = list(args)
        left = super().parse_args(ctx, args)
        inputs = ctx.params.get("inputs", ())
        for option, value, more in _values_after(given):
            is_cluster = option == "--what-if" and len(more) == len(inputs)
            is_cluster &= not any(ctx.params.get(each) for each in _OF_LIVE)
            is_file = option != "--what-if" and all(os.path.exists(each) for each in more)
            if more and not (is_cluster or is_file):
                again = " ".join(f"{option} {each}" for each in (value, *more))
                message = f"{option} takes one value: write {again}"
                if option == "--what-if":
                    message += f"; if {more[0]} is part of the cluster, write it before {option}"
                raise click.UsageError(message, ctx)
        return left


_OF_LIVE = ("live", "kubeconfig", "context")


def _values_after(arguments: Sequence[str]) -> Iterator[tuple[str, str, list[str]]]:
    """Each of these options with its value and the arguments between it and the next option."""
    for index, argument in enumerate(arguments):
        option, has_value, value = argument.partition("=")
        if option in ("--what-if", "--drain", "--queue"):
            rest = itertools.takewhile(_is_value, arguments[index + 1 :])
            first, *more = [value, *rest] if has_value else [*rest] or [""]
            yield option, first, more


def _is_value(argument: str) -> bool:
    return argument == "-" or not argument.startswith("-")


def _times(given: Sequence[object]) -> str:
    return "once" if len(given) == 1 else f"{len(given)} times"


def compare(what: WhatIf, cluster: Cluster, plan: Plan, answers: Answers, warn: Warner) -> None:
    """Writes the difference. The status is 1 if a submitted object does not start or is left out,
    or if the change makes groups wait, or lose pods, that did not before."""
    origin = plan._origin
    assert origin is not None
    made = what.apply(cluster)
    after = patiently("planning", lambda: origin.afresh(None)(made.cluster))
    waits = [
        name for name in after.pod_groups if name in made.submitted and not _starts(after, name)
    ]
    found = _found(plan, after, made, waits)
    if what.manifests and not (made.submitted or what.changes):
        named = ("standard input" if each == "-" else each for each in what.manifests if each)
        found = dataclasses.replace(found, without=" and ".join(named))
    # Beside pods that are planned, pods of another scheduler may be meant for it.
    is_no = found.worse or waits or found.left_out or found.lost
    if is_no or (found.elsewhere and not made.submitted):
        warn.status = warn.status or ANSWER_IS_NO
    known = (*plan.warnings, *found.elsewhere)
    warn.of((each for each in after.warnings if each not in known), strict=False)
    answers.write(_answer(found))


def _found(plan: Plan, after: Plan, made: _Changed, waits: Sequence[str]) -> _Found:
    """`waits`: the submitted groups that would wait; they come first."""
    known = {*plan.pod_groups, *waits}
    new = [*waits, *(name for name in after.pod_groups if name not in known)]
    answered = frozenset(new)
    diff = plan.diff(after)
    losing = {plan.situation.group_of_pod.get(name, "") for name in made.lost}
    elsewhere = after.elsewhere.scheduler_of.keys() - plan.elsewhere.scheduler_of.keys()
    return _Found(
        plan,
        after,
        diff,
        new=new,
        worse=[name for name in _worse(diff, after, losing) if name not in answered],
        left_out=[each for each in after.rejected if each not in plan.rejected],
        lost=made.lost,
        elsewhere=tuple(after.elsewhere.sentences()) if elsewhere else (),
    )


def _changed_groups(
    cluster: Cluster, before: Mapping[str, Mapping[str, Mapping[str, Any]]]
) -> Iterator[str]:
    """The pod groups that are new, or that differ from `before` themselves or in a pod: objects
    by kind and name."""
    for name, group in cluster._all("PodGroup").items():
        if before["PodGroup"].get(name) != group:
            yield name
    for name, pod in cluster._all("Pod").items():
        group_name = annotations_of(pod).get(keys.POD_GROUP_ANNOTATION)
        if group_name and before["Pod"].get(name) != pod:
            yield f"{name.rpartition('/')[0]}/{group_name}"


# ---- the changes ---------------------------------------------------------------------------------


def _matching(labels: Mapping[str, Mapping[str, str]], given: str) -> list[str]:
    """The node of this name, or those with the label "key=value", or with that value of any label:
    a rack. `labels`: by node."""
    if given in labels:
        return [given]
    label, has_value, value = given.partition("=")
    if has_value:
        found = [name for name, own in labels.items() if own.get(label) == value]
    else:
        found = [name for name, own in labels.items() if given in own.values()]
    if not found:
        hint = did_you_mean(given, labels)
        raise NotFoundError(f"no node has the name {given!r}, or a label with that value{hint}")
    return found


def _queue_change(given: str) -> tuple[str, _Field, Any]:
    """The queue, its field, and the value; None: unlimited, or no parent."""
    path, is_given, value = given.partition("=")
    name, _, field = path.partition(".")
    while field and field not in _QUEUE_FIELDS:  # names of queues may have dots
        more, _, field = field.partition(".")
        name = f"{name}.{more}"
    if not is_given or not name or field not in _QUEUE_FIELDS:
        raise InvalidInputError(
            "give QUEUE.FIELD=VALUE, such as vision.quota=12; fields: " + ", ".join(_QUEUE_FIELDS)
        )
    amount: Any = value
    if field == "priority" or field == "weight":
        try:
            amount = float(value) if field == "weight" else int(value)
        except ValueError:
            raise InvalidInputError(f"{value!r} is not a number") from None
        if field == "weight" and not 0 <= amount < math.inf:
            raise InvalidInputError(f"{value!r} is not a weight: write a number of at least 0")
    elif value in ("", "none", "unlimited", "-1"):
        amount = None
    elif field != "parent" and value.startswith("-"):
        raise InvalidInputError(f"{value!r} is below 0; -1 is unlimited")
    return name, _QUEUE_FIELDS[field], amount


def _check_quotas(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> None:
    """Raises InvalidInputError for a quota above the limit, which the webhook refuses. One that the
    cluster has already is no matter of a change of something else."""
    from kai.admission import queues

    known = list(queues.doubts(before or {}))
    for found in queues.doubts(after or {}):
        if found.severity == "error" and found not in known:
            queue = at(after, "metadata", "name")
            raise InvalidInputError(f"{found.path} of queue {queue}: {found.message}; {found.fix}")


def _check_queue(name: str, queues: Sequence[Queue]) -> None:
    names = [each.name for each in queues]
    check_known([name], names, "there is no queue", NotFoundError, lists_all=True)


def _of_workload(field: _Field, value: Any) -> Any:
    """The value of a field as a workload has it: numbers, -1 for no limit."""
    if field.member == "parent":
        return value or ""
    if value is None:
        return -1.0
    if not isinstance(value, str):
        return value
    try:
        return float(quantities.parse(value) / field.unit)
    except ValueError as error:
        raise InvalidInputError(str(error)) from None


# ---- the answer ----------------------------------------------------------------------------------


def _starts(plan: Plan, name: str) -> bool:
    from kai.engine.fixing.trials import starts_in

    return starts_in(plan, name)


def _worse(diff: PlanDiff, after: Plan, losing: Set[str]) -> Iterator[str]:
    """Groups with more waiting pods than before, with pods that are evicted now, or in `losing`."""
    group_of = after.situation.group_of_pod
    # A group that loses some of its pods may run before and after, without a difference of its own.
    evicted = {group_of[each.name] for each in diff.pods if _evicts(each) and each.name in group_of}
    waiting = {each.name for each in diff.groups if each.waiting_after > each.waiting_before}
    yield from sorted((evicted | waiting | losing) - {""})


def _can_be_lost(pod: Mapping[str, Any]) -> bool:
    """Whether it runs and is no pod that the binder makes for a shared GPU."""
    is_reservation = at(pod, "metadata", "namespace") == keys.RESERVATION
    is_leaving = bool(at(pod, "metadata", "deletionTimestamp"))
    return not (is_reservation or is_leaving) and bool(node_of(pod))


def _loss(pods: Sequence[str]) -> Iterator[str]:
    from kai.engine import text

    if pods:
        one = len(pods) == 1
        yield (
            f"{text.count(len(pods), 'pod')} would be lost, because no controller creates"
            f" {'it' if one else 'them'} again: {text.listing(list(pods), most=5)}. kubectl drain"
            " refuses to delete bare pods without --force."
        )


def _evicts(change: Any) -> bool:
    kinds = [None if each is None else each.kind for each in (change.before, change.after)]
    return kinds[1] == "evict" and kinds[0] != "evict"


@dataclass(frozen=True, slots=True)
class _Found:
    """The difference, and what is in the answer beside it: `new` and `worse` pod groups, objects
    that are left out, lost pods, and sentences about pods of another scheduler. `without`: the
    files, if they make no pods and nothing else changes."""

    plan: Plan
    after: Plan
    diff: PlanDiff
    new: Sequence[str]
    worse: Sequence[str]
    left_out: Sequence[Rejected]
    lost: Sequence[str]
    elsewhere: Sequence[str]
    without: str = ""


def _answer(found: _Found) -> Answer:
    plan, after, diff = found.plan, found.after, found.diff
    said = (*found.elsewhere, *_loss(found.lost))

    def first() -> Iterator[str]:
        from kai.engine.left_out import why_rejected

        yield from said
        if found.left_out:
            yield why_rejected(found.left_out)
        for name in found.new:
            why = after.why(name)
            yield why.splitlines()[0] if after.pod_groups[name].verdict == "running" else why
        if found.worse or not (found.new or found.left_out or said):
            yield _summary(found)

    def data() -> Mapping[str, Any]:
        submitted = [{**after.pod_groups[name].to_dict(), "name": name} for name in found.new]
        return {
            "input": plan.input,
            "now": plan.now_text,
            "submitted": submitted,
            "left_out": [dataclasses.asdict(each) for each in found.left_out],
            "lost": list(found.lost),
            "worse": list(found.worse),
            "difference": diff.to_dict(),
        }

    def rows() -> Iterator[dict[str, Any]]:
        for each in diff.groups:
            yield {
                "input": plan.input,
                "pod_group": each.name,
                "before": each.before,
                "after": each.after,
                "waiting_before": each.waiting_before,
                "waiting_after": each.waiting_after,
            }

    return Answer(
        heading=lambda: f"{plan.input or 'the cluster'} at {plan.now_text}, what if",
        tables=diff.tables,
        data=data,
        rows=rows,
        columns=("pod_group", "before", "after", "waiting_before", "waiting_after"),
        first=first,
    )


def _summary(found: _Found) -> str:
    from kai.engine import text

    diff, worse = found.diff, found.worse
    if not diff and found.without:
        return f"Nothing changes: no object in {found.without} makes new pods now."
    if not diff:
        return "Nothing changes: the next plan is the same."
    better = [each.name for each in diff.groups if each.waiting_after < each.waiting_before]
    said = [
        f"{text.count(len(names), 'pod group')} {verb if len(names) == 1 else verbs}: "
        f"{text.listing(names, most=5)}."
        for names, verb, verbs in (
            (better, "gets more places", "get more places"),
            (worse, "is worse off", "are worse off"),
        )
        if names
    ]
    if not worse:
        said.append("No pod group waits or loses pods because of the change.")
    return "\n".join(said)
