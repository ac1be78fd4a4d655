"""What replays of KAI's recordings leave out, and how their ends may differ.

An `Accepted` is an allowed difference (testcluster.compared), with its reason: a rule in the
recordings or a decision of ours. `recordings`, `subject` and `member` are patterns as for file
names; `ours` and `kais` are regular expressions for the values.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from testcluster.compared import Difference
from testcluster.replays import Script

from kai.api import keys

WAITING = {
    r'"responses": ': "admission is not built",
    r"entries, the same over and over, left out": "it does not come to rest, and was cut off",
    r'"kind": "Revision"': "the grouper does not know Knative yet",
    r'"kind": "PodClique"': "the grouper does not know Grove yet",
}
"""Parts of recordings that are not played, as regular expressions, and why."""

NOT_YET: Mapping[str, str] = {}
"""The same, for features under construction: a part without an entry is played."""

FAST = (
    "02-gpu-pod",
    "19-elastic",
)
"""The recordings of every commit; the others are `cluster_slow`."""


NOTHING = "(nothing)"
"""For `ours` and `kais`: there is no value."""


@dataclass(frozen=True)
class Accepted:
    why: str
    """A sentence."""
    by: str
    """A rule (`spec 6 S3`), a decision, or a page of ours."""
    member: str
    recordings: str = "*"
    subject: str = "*"
    ours: str = ""
    kais: str = ""
    same: Callable[[str], str] | None = None
    """The part of the two values that must be equal."""

    def covers(self, recording: str, each: Difference) -> bool:
        return (
            fnmatchcase(recording, self.recordings)
            and fnmatchcase(each.subject, self.subject)
            and fnmatchcase(each.member, self.member)
            and _has(each.ours, self.ours)
            and _has(each.kais, self.kais)
            and (self.same is None or self.same(each.ours or "") == self.same(each.kais or ""))
        )


def _has(value: str | None, pattern: str) -> bool:
    if pattern == NOTHING:
        return value is None
    return not pattern or (value is not None and re.search(pattern, value) is not None)


def node_error(text: str) -> str:
    """The part of a gang's message with the reason why the next pod found no node."""
    found = re.search(r"no nodes with enough resources were found.*?\.(?=\.|['\"]|$)", text)
    return found[0] if found else text


def without_requests(text: str) -> str:
    """The users of a shared GPU, without BindRequests."""
    groups = [
        ", ".join(each for each in group.split(", ") if not each.startswith("BindRequest/"))
        for group in text.split(" & ")
    ]
    return " & ".join(sorted(groups))


def sorted_devices(text: str) -> str:
    """A list of devices without their order."""
    return ",".join(sorted(text.strip('"').split(",")))


RULES = (
    Accepted(
        "a pod that the grouper saw is grouped at once, no other program makes its group, and the"
        " deletion of an owner with its pods is not an error",
        "spec 6 S3 and S4",
        "event Warning PodGrouperWarning of pod-grouper",
        ours=NOTHING,
        kais="not found|already exists",
    ),
    Accepted(
        "an event is not written again each second, each time in other words",
        "spec 6 S6",
        "further event * of *",
        ours=NOTHING,
    ),
    Accepted(
        "a binding whose preparation takes longer than a second is shown by an event",
        "docs/decisions/0029-refusals-by-their-message.md",
        "event Normal Binding of kai-scheduler",
        kais=NOTHING,
    ),
    Accepted(
        "an eviction is said, however much was said about the group before",
        "spec 6 S6",
        "event Normal Evict of kai-scheduler",
        kais=NOTHING,
    ),
    Accepted(
        "one reason is said once, and not once for each search",
        "spec 6 S9",
        "*",
        subject="PodGroup/*",
        kais=r"^\W?Unable to schedule podgroup: (\d+ )?Resources were not found",
    ),
    Accepted(
        "the same: KAI lists its reasons one by one",
        "spec 6 S9",
        "status.schedulingConditions*.reasons*",
        ours=NOTHING,
        kais="Resources were not found|PodSchedulingErrors",
    ),
    Accepted(
        "which pod of a gang is the first that finds no node hangs on UIDs",
        "spec 6 S5",
        "*Unschedulable*",
        subject="Pod/*",
        same=node_error,
    ),
    Accepted(
        "the same, in the condition",
        "spec 6 S5",
        "condition PodScheduled",
        ours="Unschedulable",
        kais="Unschedulable",
        same=node_error,
    ),
    Accepted(
        "pods that a controller makes one after the other are waited for without a word",
        "spec 6 S4; docs/internals/verdicts.md",
        "event Normal NotReady of kai-scheduler",
        ours=NOTHING,
    ),
    Accepted(
        "a pod whose pod group does not exist says so",
        "spec 6 S19; docs/compatibility.md",
        "*",
        subject="Pod/*",
        ours="PodGroup .* does not exist",
        kais=NOTHING,
    ),
    Accepted(
        "a gang is stale if it has fewer pods than it needs to start",
        "spec 6 S14 and S15; docs/compatibility.md, min_sub_group",
        "event Normal StaleJob of kai-scheduler",
        ours=NOTHING,
        kais="subGroup .* minMember is",
    ),
    Accepted(
        "the grouper says in words of its own what is wrong",
        "docs/compatibility.md",
        "text of event Warning PodGrouperWarning of pod-grouper",
    ),
    Accepted(
        "annotations in which controllers count do not cause a write of the pod group",
        "decision 22",
        "annotation deployment.kubernetes.io/revision",
        subject="PodGroup/*",
    ),
    *(
        Accepted(
            "what is written on a pod that is its own owner is not copied to its group",
            "spec 6 S20; decision 22",
            f"annotation {key}",
            subject="PodGroup/*",
            ours=NOTHING,
        )
        for key in (keys.POD_GROUP_ANNOTATION, "received-resource-type")
    ),
    Accepted(
        "if GPU memory is missing, the message has the amount",
        "spec 6 S11",
        "*",
        kais=r"Unable to schedule pod\b",
    ),
    Accepted(
        "the program in reservation pods is a command of kai",
        "docs/compatibility.md",
        "spec.containers?resource-reservation?.args*",
        kais=NOTHING,
    ),
    *(
        Accepted(
            "the recorder called some GPUs so",
            "recordings 30, 40 and 46",
            member,
            kais="GPU-fake-",
        )
        for member in (
            "annotation run.ai/reserve_for_gpu_index",
            "data.NVIDIA_VISIBLE_DEVICES",
        )
    ),
    Accepted(
        "which of two devices that score the same is taken first hangs on UUIDs",
        "spec 3 S2",
        "data.NVIDIA_VISIBLE_DEVICES",
        same=sorted_devices,
    ),
    Accepted(
        "a pod is said to be scheduled once it is bound",
        "spec 6 S1; docs/internals/verdicts.md",
        "event Normal Scheduled of kai-scheduler",
        ours=NOTHING,
    ),
    Accepted(
        "a plan follows each change, so that it meets pods that are leaving",
        "docs/internals/cluster.md",
        "event Normal Pipelined of kai-scheduler",
        kais=NOTHING,
    ),
    Accepted(
        "the status of a pod has the place that it was promised",
        "decision 23",
        "status.nominatedNodeName",
        kais=NOTHING,
    ),
    Accepted(
        "pods that start in a group with a topology get ranks",
        "docs/concepts/topology.md",
        "annotation kai.scheduler/topology-*",
        kais=NOTHING,
    ),
    Accepted(
        "a topology level that does not exist is named",
        "docs/compatibility.md, topology_levels",
        "*",
        ours="does not contain a level",
    ),
    Accepted(
        "the same, for programs",
        "docs/compatibility.md, topology_levels",
        "status.schedulingConditions*.reasons*.reason",
        ours="PodSchedulingErrors",
        kais=NOTHING,
    ),
)
"""Allowed differences of all recordings."""

ACCEPTED = (
    Accepted(
        "a pod on parts of several devices holds all of them",
        "spec 6 C32",
        "status*allocated.nvidia.com/gpu",
        recordings="08-fraction-num-devices",
    ),
    *(
        Accepted(
            "a pod that is not bound gets no event Bound, and its condition has the failure",
            "spec 6 S1, S2 and S25",
            member,
            recordings="31-reservation-never-answers",
            subject=subject,
        )
        for subject, member in (
            ("Pod/half", "event Normal Bound of binder"),
            ("Pod/half", "event Warning FailedBinding of kai-scheduler"),
            ("Pod/half", "condition PodScheduled"),
            ("GPUs", "sharing"),
        )
    ),
    *(
        Accepted(
            "a reservation pod was left over from another recording",
            "spec 6 S25",
            member,
            recordings="14-queue-limits",
            subject=subject,
            ours=NOTHING,
        )
        for subject, member in (("Pod/gpu-reservation-<hash>", ""), ("GPUs", "sharing"))
    ),
    Accepted(
        "a group whose pods are all placed loses its condition at once",
        "spec 6 S8",
        "status.schedulingConditions*",
        recordings="12-gang-does-not-fit",
        ours=NOTHING,
    ),
    Accepted(
        "the waiting pod is grouped at once, preempts at once, and counts as running when the"
        " reclaim comes",
        "spec 6 S3",
        "text of event Normal Evict of kai-scheduler",
        recordings="22-min-runtime",
        subject="PodGroup/pg-a-*",
    ),
    Accepted(
        "the BindRequest is taken back before the binder sees it, as its node went",
        "spec 6 S1",
        "event Warning BindingError of binder",
        recordings="25-bind-failure-node-gone",
        ours=NOTHING,
    ),
    Accepted(
        "a leader that may start alone is not stale",
        "spec 6 S14",
        f"annotation {keys.STALE_ANNOTATION}",
        recordings="??-jobset-in-order-*",
        ours=NOTHING,
    ),
    *(
        Accepted(
            "the same: it is not evicted, so that its group has no condition and no second leader"
            " is bound",
            "spec 6 S14",
            member,
            recordings="86-jobset-in-order-then-stale",
            subject=subject,
            ours=NOTHING,
        )
        for subject, member in (
            ("PodGroup/pg-js-*", "status.schedulingConditions*"),
            ("Pod/js-leader-0-0-<r>", "event Normal Bound of binder"),
        )
    ),
    *(
        Accepted(
            "the queue follows the owner's label",
            "spec 6 S12; decision 22",
            member,
            recordings="85-label-changes",
            subject=subject,
        )
        for subject, member in (
            ("PodGroup/pg-wi-<uid:Widget/wi>", "label kai.scheduler/queue"),
            ("PodGroup/pg-wi-<uid:Widget/wi>", "spec.queue"),
            ("Queue/team-?", "status.*"),
        )
    ),
    *(
        Accepted(
            "a leader that waits for its workers is not evicted",
            "spec 6 S15; decision 22",
            "*",
            recordings="87-leaderworkerset-late-workers",
            subject=subject,
        )
        for subject in ("*lws*", "Queue/*")
    ),
    *(
        Accepted(
            "the submitter of a RayJob has a group of its own and runs",
            "spec 6 S13; decision 22",
            member,
            recordings="70-rayjob",
            subject=subject,
        )
        for subject, member in (
            ("Pod/rj-<r>", "*"),
            ("BindRequest/rj-<r>", ""),
            ("PodGroup/pg-rj-<uid:Job/rj>", "*"),
            ("PodGroup/pg-rj-<uid:RayJob/rj>", "status.resourcesStatus.requested.*"),
            ("Queue/*", "status.allocated.*"),
        )
    ),
    Accepted(
        "the recorder took a finalizer away at the end",
        "recording 42",
        "finalizers",
        recordings="42-slow-victims-reclaim-gang",
        subject="Pod/a-0",
        kais=NOTHING,
    ),
)
"""Allowed differences of single recordings."""

DIRECT = (
    Accepted(
        "with `--binding direct` pods are bound without BindRequests",
        "docs/internals/bind-requests.md",
        "",
        subject="BindRequest/*",
        ours=NOTHING,
    ),
    Accepted(
        "the same: those that share a GPU have none",
        "docs/internals/bind-requests.md",
        "sharing",
        subject="GPUs",
        same=without_requests,
    ),
)
"""Further ones with `--binding direct`."""


def why_not(content: Mapping[str, Any], binding: str) -> str:
    """ "" for a recording that is played."""
    text = json.dumps(content)
    for pattern, why in {**WAITING, **NOT_YET}.items():
        if re.search(pattern, text):
            return why
    if binding == "direct" and Script(content).needs_a_binder_apart:
        return "without BindRequests no binder can be away"
    return ""


def unexplained(
    recording: str, found: Iterable[Difference], accepted: Iterable[Accepted]
) -> tuple[list[Difference], set[Accepted]]:
    """The differences that nothing here covers, and the entries that cover one."""
    accepted, used = list(accepted), set[Accepted]()
    rest = []
    for each in found:
        covering = [entry for entry in accepted if entry.covers(recording, each)]
        used.update(covering)
        if not covering:
            rest.append(each)
    return rest, used
