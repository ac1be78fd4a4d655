"""The pod-grouper: which pod group each pod belongs to, decided without I/O (spec 6 C24-C31).

    grouper = Grouper(Rules(classes=frozenset(["train", "build"])))
    for name, manifest in drained.pods:        # facts
        grouper.put_pod(json.loads(manifest))
    for kind, name, uid in drained.gone:
        grouper.pod_gone(name, uid) if kind == "Pod" else grouper.group_gone(name, uid)
    decided = grouper.decide()
    for reference in decided.needs:            # put_object, object_gone or object_forbidden answer
        follow(reference)                      # now and when it changes, until it is in not_needed
    for reference in decided.joined:           # has a new pod: a good time to look at it again
        look_again(reference)
    for change in decided.groups:
        change.manifest                        # for a plan that is made before the group exists
        send(change.write(last_start=now))     # or without, for the role that runs alone
    for hold in decided.holds:
        cluster.assign(hold.pod, hold.uid, hold.group, "")
    for assignment in decided.assignments:
        cluster.assign(assignment.pod, assignment.uid, assignment.group, assignment.sub_group)
        send(assignment.write())               # unless the binding carries the annotation
    for problem in decided.problems:           # Warning events
        event(problem.pod, problem.uid, WARNING, problem.message)

What a write led to, where it was not done: `group_exists` for a group that was to be created and is
there (409), or whose answer got lost; `group_gone` for a patch of one that is not there (404);
`group_refused`; `retry` for all else. A PodGroup is read once, and so is a Pod: `put_pod` tells of
its changes. A patch of a group whose creation has not been sent yet takes the place of that, with
the manifest beside the patch.
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
