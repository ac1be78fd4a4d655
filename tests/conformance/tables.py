"""Rows of ``tables/``: questions to single functions of the compiled core.

    .venv/bin/python tests/conformance/tables.py [DIRECTORY or ARCHIVE]

prints how many rows of each table agree, and what differs. Each row names an operation, its input
and the answer. The functions (``cpp/questions``) take plain values; this module turns a row into
those, in the units the tables use: millicores, bytes and GPUs, -1 for unlimited.
"""

import json
import sys
import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

try:
    import kai_questions
except ImportError as error:
    raise ImportError("please build kai_questions: tools/build.sh release kai_questions") from error

from kai.verify.cases import default_cases

RESOURCES = ("cpu", "memory", "gpu")  # the order of every triple
TOLERANCE = 1e-9
SECOND_NS = 10**9

Json = dict[str, Any]


def read_tables(path: Path) -> dict[str, list[Json]]:
    """The rows of every table of a collection of recorded cases, a directory or an archive."""
    if path.is_dir():
        texts = {file.stem: file.read_bytes() for file in path.glob("tables/*.json")}
    else:
        with tarfile.open(path) as archive:
            texts = {
                Path(member.name).stem: content.read()
                for member in archive
                if Path(member.name).parent.name == "tables"
                and (content := archive.extractfile(member)) is not None
            }
    return {name: json.loads(text)["cases"] for name, text in sorted(texts.items())}


def check_row(table: str, row: Json) -> list[str]:
    """The differences between the core's answer to a row and the recorded one, in sentences."""
    return [
        f"{row['id']}: {text}" for text in _CHECKS[table](row["op"], row["input"], row["expect"])
    ]


def main(arguments: Sequence[str]) -> int:
    differ = 0
    for table, rows in read_tables(Path(arguments[0]) if arguments else default_cases()).items():
        wrong = []
        for row in rows:
            try:
                found = check_row(table, row)
            except (ValueError, TypeError) as error:
                found = [f"{row['id']}: {error}"]
            wrong += [found] if found else []
        print(f"{table}: {len(rows) - len(wrong)} of {len(rows)} agree")
        print("".join(f"  {text}\n" for found in wrong for text in found), end="")
        differ += len(wrong)
    return 1 if differ else 0


# --- values --------------------------------------------------------------------------------------

_NUMBERS = {
    "quota": "deserved",
    "limit": "limit",
    "overQuotaWeight": "over_quota_weight",
    "allocated": "allocated",
    "allocatedNonPreemptible": "allocated_non_preemptible",
    "request": "request",
    "usage": "usage",
    "fairShare": "fair_share",
}


def _queue(name: str, queue: Mapping[str, Any]) -> Any:
    created = queue.get("createdOrder")
    shares = {
        resource: kai_questions.Share(
            **{
                own: float((queue.get(resource) or {}).get(theirs, 0))
                for theirs, own in _NUMBERS.items()
            }
        )
        for resource in RESOURCES
    }
    return kai_questions.QueueShare(
        name=name,
        parent=queue.get("parent") or "",
        priority=queue.get("priority", 0),
        created_ns=_created_ns(created),
        **shares,
    )


def _created_ns(rank: int | None) -> int:
    """A rank as a time; without a rank all are equally old."""
    return 0 if rank is None else (rank + 1) * 10**9


def _queues(queues: Mapping[str, Any]) -> list[Any]:
    return [_queue(name, queue) for name, queue in queues.items()]


def _triple(amounts: Mapping[str, Any] | None) -> tuple[float, float, float] | None:
    if amounts is None:
        return None
    cpu, memory, gpu = (float(amounts.get(resource, 0)) for resource in RESOURCES)
    return cpu, memory, gpu


def _same(left: float, right: float) -> bool:
    return abs(left - right) <= TOLERANCE * max(1.0, abs(left), abs(right))


# --- one function per table ----------------------------------------------------------------------


def _division(op: str, given: Json, expect: Json) -> Iterator[str]:
    divide = kai_questions.divide_siblings
    wanted = expect["fairShare"]
    if op == "all":
        for resource in RESOURCES:
            total = (given["total"] or {}).get(resource, 0)
            queues = _queues(given["queues"])
            shares, _ = divide(float(total), float(given["kValue"]), queues, resource)
            for name, values in wanted.items():
                yield from _differs(f"{resource} of {name}", shares[name], values[resource])
        return
    resource = given["resource"].lower()
    shares, remaining = divide(
        float(given["total"]),
        float(given["kValue"]),
        _queues(given["queues"]),
        resource,
        over_quota_only=op == "overQuota",
    )
    for name, value in wanted.items():
        yield from _differs(f"fair share of {name}", shares[name], value)
    if "remaining" in expect:
        yield from _differs("what remains", remaining, expect["remaining"])


def _hierarchy(op: str, given: Json, expect: Json) -> Iterator[str]:
    divide = kai_questions.divide_tree
    tree = _reached(given["queues"])
    shares = divide(_triple(given["total"]), float(given["kValue"]), _queues(tree))
    for name, values in expect["fairShare"].items():
        own = shares[name] if name in tree else (0.0, 0.0, 0.0)
        for resource, share in zip(RESOURCES, own, strict=True):
            yield from _differs(f"{resource} of {name}", share, values[resource])


def _reached(queues: Mapping[str, Any]) -> dict[str, Any]:
    """The queues that a division reaches: from the top by ``children``, not by ``parent``."""
    found: dict[str, Any] = {}
    waiting = [name for name, queue in queues.items() if not queue.get("parent")]
    for name in waiting:
        if name in queues and name not in found:
            found[name] = queues[name]
            waiting += queues[name].get("children") or []
    return found


def _queue_order(op: str, given: Json, expect: int) -> Iterator[str]:
    left, right = given["left"], given["right"]
    answer = kai_questions.compare_queues(
        _queue("left", left["queue"]),
        _queue("right", right["queue"]),
        total=_triple(given.get("total")),
        left_job=_triple(left.get("job")),
        right_job=_triple(right.get("job")),
        left_victims=[_triple(victim) for victim in left.get("victims") or []],
        right_victims=[_triple(victim) for victim in right.get("victims") or []],
    )
    if (answer > 0) - (answer < 0) != expect:
        first = {-1: "left", 0: "neither", 1: "right"}
        sign = (answer > 0) - (answer < 0)
        yield f"{first[sign]} comes first, in KAI {first[expect]}"


def _capacity(op: str, given: Json, expect: Json) -> Iterator[str]:
    schedulable, reason, queue, _ = kai_questions.check_capacity(
        _queues(given["queues"]),
        given["job"]["queue"],
        _triple(given["requested"]),
        preemptible=given["job"]["preemptible"],
        check=op,
    )
    if schedulable != expect["schedulable"]:
        yield f"schedulable is {schedulable}, KAI says {expect['schedulable']}"
    for what, own in (("reason", reason), ("queue", queue)):
        if what in expect and own != expect[what]:
            yield f"the {what} is {own!r}, KAI says {expect[what]!r}"


def _strategy(op: str, given: Json, expect: bool) -> Iterator[str]:
    reclaimer, victim = given["reclaimer"], given["reclaimee"]
    allowed = kai_questions.reclaim_strategy(
        op,
        _queue("reclaimer", reclaimer["queue"]),
        _triple(reclaimer["resources"]),
        _queue("victim", victim["queue"]),
        _triple(victim["remaining"]),
    )
    yield from _answers(op, allowed, expect)


def _reclaimable(op: str, given: Json, expect: bool) -> Iterator[str]:
    reclaimer = given["reclaimer"]
    allowed = kai_questions.reclaimable(
        _queues(given["queues"]),
        reclaimer["queue"],
        _triple(reclaimer["resources"]),
        question=op,
        preemptible=reclaimer["preemptible"],
        victim=given.get("reclaimeeQueue"),
        losses=[
            (queue, _triple(piece))
            for queue, pieces in (given.get("reclaimees") or {}).items()
            for piece in pieces
        ],
        saturation_multiplier=float(given.get("saturationMultiplier", 1)),
    )
    yield from _answers(op, allowed, expect)


def _min_runtime(op: str, given: Json, expect: Any) -> Iterator[str]:
    action = "reclaim" if op.startswith("reclaim") else "preempt"
    if op == action:
        # KAI also reports an error if no queue is named; the answer is the default in that case
        # too.
        runtime_ns = _runtime_ns(action, given, given.get("reclaimerQueue"), given["victimQueue"])
        yield from _differs("the minimum runtime", runtime_ns / SECOND_NS, expect["seconds"])
        return
    pending = given["pending"]["queue"]
    if op.endswith("Filter"):
        allowed = _runtime_allows(action, given, pending, given["victim"])
    else:
        allowed = all(
            _runtime_allows(action, given, pending, victim, victim["evicted"])
            for victim in given["victims"]
        )
    yield from _answers(op, allowed, expect)


def _runtime_allows(
    action: str,
    given: Json,
    pending: str,
    victim: Json,
    evicted: Mapping[str, int] | None = None,
) -> bool:
    ran = victim.get("startedSecondsAgo")
    allows: bool = kai_questions.min_runtime_allows(
        _runtime_ns(action, given, pending, victim["queue"]),
        None if ran is None else ran * SECOND_NS,
        elastic=victim["elastic"],
        pod_sets=None
        if evicted is None
        else [
            (pod_set["minMember"], pod_set["active"], evicted.get(name, 0))
            for name, pod_set in victim["podSets"].items()
        ],
    )
    return allows


def _runtime_ns(action: str, given: Json, pending: str | None, victim: str | None) -> int:
    runtime_ns: int = kai_questions.min_runtime(
        [
            (
                name,
                queue.get("parent") or "",
                _ns(queue.get("preemptMinRuntime")),
                _ns(queue.get("reclaimMinRuntime")),
            )
            for name, queue in given["queues"].items()
        ],
        action,
        pending=pending,
        victim=victim,
        default_preempt_ns=given["defaultPreemptMinRuntime"] * SECOND_NS,
        default_reclaim_ns=given["defaultReclaimMinRuntime"] * SECOND_NS,
        method=given.get("method", "lca"),
    )
    return runtime_ns


def _ns(seconds: int | None) -> int | None:
    return None if seconds is None else seconds * SECOND_NS


def _job_order(op: str, given: Json, expect: Json) -> Iterator[str]:
    options = given.get("options") or {}
    steps: Sequence[Json] = expect["steps"]
    popped = kai_questions.job_order(
        _queues(given["queues"]),
        [_job(job) for job in given["jobs"]],
        [_job(step["push"]) if "push" in step else None for step in steps],
        fair_share_order=given.get("fairShareOrder", False),
        filter_unready=options.get("filterUnready", False),
        filter_non_pending=options.get("filterNonPending", False),
        filter_non_preemptible=options.get("filterNonPreemptible", False),
        filter_non_active_allocated=options.get("filterNonActiveAllocated", False),
        filter_within_preemption_delay=options.get("filterWithinPreemptionDelay", False),
        victims=options.get("victimQueue", False),
        max_per_queue=options.get("maxJobsQueueDepth", -1),
    )
    wanted = [step.get("pop") for step in steps if "push" not in step]
    if list(popped) != wanted:
        yield f"the order is {list(popped)}, in KAI {wanted}"


_RUNNING = ("Allocated", "Binding", "Bound", "Running")


def _job(job: Json) -> Any:
    pods = job.get("pods") or {}
    running = sum(pods.get(status, 0) for status in _RUNNING)
    resources = job.get("resources") or {
        name: amount // running for name, amount in (job.get("allocated") or {}).items()
    }
    return kai_questions.Job(
        name=job["name"],
        queue=job["queue"],
        priority=job.get("priority", 0),
        created_ns=_created_ns(job.get("createdOrder")),
        preemptible=job.get("preemptible", False),
        ready=job.get("ready", True),
        pending=pods.get("Pending", 0),
        running=running,
        within_preemption_delay=job.get("withinPreemptionDelay", False),
        pod_sets=[
            (pod_set.get("minMember", 0), pod_set.get("active", 0), pod_set.get("pods", 0))
            for pod_set in (job.get("podSets") or {}).values()
        ],
        request=_triple(resources),
    )


def _placement(op: str, given: Json, expect: Json) -> Iterator[str]:
    nodes = [
        (name, float(node["free"]), float(node.get("allocatable", node.get("count", 0))))
        for name, node in given["nodes"].items()
    ]
    scores = kai_questions.placement_scores(nodes, strategy=op)
    for name, score in expect["scores"].items():
        yield from _differs(f"score of {name!r}", scores[name], score)


def _topology_levels(op: str, given: Json, expect: Json) -> Iterator[str]:
    levels = kai_questions.topology_levels
    try:
        tried = levels(
            given["levels"],
            required=given.get("required", ""),
            preferred=given.get("preferred", ""),
        )
    except ValueError:
        tried = None
    if tried != expect.get("levels"):
        yield f"the levels are {tried}, in KAI {expect.get('levels')}"


def _topology_node_sets(op: str, given: Json, expect: Json) -> Iterator[str]:
    nodes = [
        (name, node.get("labels") or {}, _whole(node["free"]))
        for name, node in given["nodes"].items()
    ]
    constraint = given["constraint"]
    sets, scores = kai_questions.topology_node_sets(
        given["levels"],
        nodes,
        [_whole(pod.get("requests") or {}) for pod in given["pods"]],
        active=given.get("activePods") or {},
        candidates=given.get("candidates"),
        required=constraint.get("required", ""),
        preferred=constraint.get("preferred", ""),
    )
    wanted = [sorted(nodes) for nodes in expect.get("nodeSets") or []]
    if [sorted(nodes) for nodes in sets] != wanted:
        yield f"the node sets are {sets}, in KAI {wanted}"
    for name, score in (expect.get("nodeScores") or {}).items():
        yield from _differs(f"score of {name!r}", scores.get(name, 0.0), score)


def _whole(amounts: Json) -> dict[str, int]:
    return {name: int(amount) for name, amount in amounts.items()}


def _answers(what: str, own: bool, wanted: bool) -> Iterator[str]:
    if own != wanted:
        yield f"{what} is {own}, KAI says {wanted}"


def _differs(what: str, own: float, wanted: float) -> Iterator[str]:
    if not _same(own, wanted):
        yield f"{what} is {own:.12g}, in KAI {wanted:.12g}"


_CHECKS: dict[str, Callable[[str, Any, Any], Iterator[str]]] = {
    "resource-division": _division,
    "fair-share-hierarchy": _hierarchy,
    "queue-order": _queue_order,
    "capacity-policy": _capacity,
    "reclaim-strategies": _strategy,
    "reclaimable": _reclaimable,
    "min-runtime": _min_runtime,
    "job-order": _job_order,
    "node-placement": _placement,
    "topology-levels": _topology_levels,
    "topology-node-sets": _topology_node_sets,
}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
