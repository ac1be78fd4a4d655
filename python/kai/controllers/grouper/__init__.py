"""The pod-grouper: decides which pod group each pod belongs to, without I/O (spec 6 C24-C31).

    grouper = Grouper(Rules(classes=frozenset(["train", "build"])))
    for name, manifest in drained.pods:        # facts
        grouper.put_pod(json.loads(manifest))
    for kind, name, uid in drained.gone:
        grouper.pod_gone(name, uid) if kind == "Pod" else grouper.group_gone(name, uid)
    decided = grouper.decide()
    for reference in decided.needs:            # answer with put_object, object_gone or
        follow(reference)                      # object_forbidden, now and after each change,
                                               # until it is in not_needed
    for reference in decided.joined:           # has a new pod: a good time to read it again
        look_again(reference)
    for name in decided.withdrawn:             # it is not created, and no plan needs it
        cluster.withdraw("PodGroup", name)
    for change in decided.groups:
        change.manifest                        # for a plan before the group exists
        send(change.write(last_start=now))     # last_start: optional
    for hold in decided.holds:
        cluster.assign(hold.pod, hold.uid, hold.group, "")
    for assignment in decided.assignments:
        cluster.assign(assignment.pod, assignment.uid, assignment.group, assignment.sub_group)
        send(assignment.write())               # unless the binding carries the annotation
    for problem in decided.problems:           # Warning events
        event(problem.pod, problem.uid, WARNING, problem.message)

Report the answers to writes of groups: `group_created` after a creation; `group_exists` if a group
to create exists (409) or the answer was lost; `group_gone` if a group to patch does not exist
(404); `group_refused`; `retry` if it was not applied for another reason. A PodGroup is read once,
and so is a Pod: `put_pod` reports its changes. A patch of a group whose creation was not sent yet
replaces that creation, and carries the manifest too.
"""

from kai.controllers.grouper.decisions import (
    WARNING,
    Assignment,
    Decided,
    GroupChange,
    Hold,
    Problem,
)
from kai.controllers.grouper.grouper import Grouper
from kai.grouping import Reference, Rules

__all__ = [
    "WARNING",
    "Assignment",
    "Decided",
    "GroupChange",
    "Grouper",
    "Hold",
    "Problem",
    "Reference",
    "Rules",
]
