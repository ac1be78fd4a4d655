"""What replays of KAI's recordings leave out, and how their ends may differ.

A mend says which differences (testcluster.compared) are wanted, and which surprise of the recordings
or which decision of ours is the reason. `recordings`, `subject` and `member` are patterns as of file
names; `ours` and `kais` are regular expressions that the values have to have, if there are any.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from testcluster.compared import Difference

WAITING = {
    "09-invalid-annotations-admission": "admission is not built",
    "10-invalid-annotations-no-admission": "it does not come to rest, and was cut off",
    "34-invalid-objects": "admission is not built",
    "65-mpijob-delayed-launcher": "the grouper does not know MPIJobs yet",
    "67-xgboostjob": "the grouper does not know XGBoostJobs yet",
    "68-jaxjob": "the grouper does not know JAXJobs yet",
    "73-sparkapplication": "the grouper does not know Spark yet",
    "74-knative": "the grouper does not know Knative yet",
    "75-grove": "the grouper does not know Grove yet",
    "76-notebook": "the grouper does not know Notebooks yet",
    "77-seldon": "the grouper does not know Seldon yet",
    "83-dynamo": "the grouper does not know Dynamo yet",
}
"""Recordings that are not played, and why."""

NOT_YET = {
    **dict.fromkeys(
        (
            "06-fractions-on-one-gpu",
            "07-gpu-memory",
            "08-fraction-num-devices",
            "14-queue-limits",
            "29-sixteen-halves",
            "29b-sixteen-halves-again",
            "30-queue-status",
            "31-reservation-never-answers",
            "36-mixed-whole-and-fraction",
            "37-preempt-fractions",
            "40-unlabelled-gpu-node",
            "46-init-and-side-containers",
        ),
        "pods on shared GPUs are not bound yet",
    ),
    "49-dra-claim": "claims are not bound yet",
}
"""The same, of what is being built: an entry that is taken out is played."""

ONLY_BY_A_BINDER = {
    "11-gang-fits": "KAI's binder was away",
    "12-gang-does-not-fit": "KAI's binder was away",
    "25-bind-failure-node-gone": "the binder is held",
    "25c-pod-deleted-before-binding": "the binder is held",
}
"""Not played with `--binding direct`, where no binder is that could be away."""

FAST = (
    "02-gpu-pod",
    "12-gang-does-not-fit",
    "16-reclaim",
    "48-queue-changes",
)
"""Those of every commit; the others are `cluster_slow`."""


@dataclass(frozen=True)
class Mend:
    why: str
    """A sentence."""
    by: str
    """`surprise N` of the recordings' README, a decision, or a page of ours."""
    member: str
    recordings: str = "*"
    subject: str = "*"
    ours: str = ""
    kais: str = ""

    def covers(self, recording: str, each: Difference) -> bool:
        return (
            fnmatchcase(recording, self.recordings)
            and fnmatchcase(each.subject, self.subject)
            and fnmatchcase(each.member, self.member)
            and _has(each.ours, self.ours)
            and _has(each.kais, self.kais)
        )


def _has(value: str | None, pattern: str) -> bool:
    """`-`: there is nothing."""
    if pattern == "-":
        return value is None
    return not pattern or (value is not None and re.search(pattern, value) is not None)


RULES = (
    Mend(
        "a pod that the grouper saw is grouped at once, nobody else makes its group, and an owner"
        " that is deleted with its pods is no trouble",
        "surprises 3 and 4",
        "event Warning PodGrouperWarning of pod-grouper",
        ours="-",
        kais="not found|already exists",
    ),
    Mend(
        "an event is not written again each second, each time in other words",
        "surprise 6",
        "further event * of *",
        ours="-",
    ),
    Mend(
        "a plan follows each change, so that it meets pods that are leaving",
        "decision 20",
        "event Normal Pipelined of kai-scheduler",
        kais="-",
    ),
    Mend(
        "pods that start in a group with a topology get ranks",
        "docs/concepts/topology.md",
        "annotation kai.scheduler/topology-*",
        kais="-",
    ),
)
"""Mends of whatever recording."""

AWAY = tuple(
    mend
    for recording in ("11-gang-fits", "12-gang-does-not-fit")
    for mend in (
        Mend(
            "a pod is said to be scheduled once a binder has bound it",
            "surprise 1; docs/internals/verdicts.md",
            "event Normal Scheduled of kai-scheduler",
            recordings=recording,
            ours="-",
        ),
        Mend(
            "a group whose pods are all placed loses its condition at once",
            "surprise 8",
            "status.schedulingConditions*",
            recordings=recording,
            ours="-",
        ),
    )
)

MENDS = (
    *AWAY,
    Mend(
        "a topology level that does not exist is named",
        "docs/compatibility.md, topology_levels",
        "*",
        recordings="23-topology",
        subject="*ghostlevel*",
        ours="does not contain a level|PodSchedulingErrors",
    ),
    Mend(
        "the waiting pod is grouped at once, preempts at once, and counts as running when the"
        " reclaim comes",
        "surprise 3",
        "text of event Normal Evict of kai-scheduler",
        recordings="22-min-runtime",
        subject="PodGroup/pg-a-*",
    ),
    Mend(
        "an eviction is said, however much was said about the group before",
        "surprise 6",
        "event Normal Evict of kai-scheduler",
        recordings="32-stale-gang-default-grace",
        subject="PodGroup/gang",
        kais="-",
    ),
    Mend(
        "the recorder took a finalizer away at the end",
        "recording 42",
        "finalizers",
        recordings="42-slow-victims-reclaim-gang",
        subject="Pod/a-0",
        kais="-",
    ),
    Mend(
        "one reason is said once, and not once for each search",
        "surprise 9",
        "*",
        recordings="44-other-limits",
        subject="PodGroup/pg-pvc-*",
        kais="persistentvolumeclaim|PodSchedulingErrors",
    ),
)
"""Mends of single recordings."""

DIRECT = (
    Mend(
        "with `--binding direct` pods are bound without BindRequests",
        "decision 23",
        "",
        subject="BindRequest/*",
        ours="-",
    ),
)
"""What `--binding direct` adds."""


def unexplained(
    recording: str, found: Iterable[Difference], mends: Iterable[Mend]
) -> tuple[list[Difference], set[Mend]]:
    """The differences that no mend covers, and the mends that cover one."""
    mends, used = list(mends), set[Mend]()
    rest = []
    for each in found:
        covering = [mend for mend in mends if mend.covers(recording, each)]
        used.update(covering)
        if not covering:
            rest.append(each)
    return rest, used
