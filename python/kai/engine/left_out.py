"""Objects that were left out of a plan, in sentences, and which of them a pod group needs.

rejections(plan, "ml/train")          # why there is no such pod group in the plan
left_out = LeftOut(plan.rejected)
left_out.sentence("Queue", "vision")  # "Queue vision was left out of the plan: spec...: ..."; ""
left_out.needed_by(pod, cluster)      # the same for what a pod names
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from kai.api.reading import at
from kai.api.visible import visible
from kai.engine.cluster import Rejected
from kai.engine.needs import Named, needed_by
from kai.engine.text import number, tidy

if TYPE_CHECKING:
    from kai.engine.answer import Answer
    from kai.engine.cluster import Cluster


class LeftOut:
    """The objects that were left out of a plan, and the invalid parts of others, by name."""

    def __init__(self, rejected: Iterable[Rejected]) -> None:
        self._found: dict[Named, list[Rejected]] = {}
        self._kinds: dict[str, list[Rejected]] = {}
        for each in rejected:
            self._found.setdefault((each.kind, each.name), []).append(each)
            self._kinds.setdefault(each.kind, []).append(each)

    def __contains__(self, named: Named) -> bool:
        return named in self._found

    def sentence(self, kind: str, name: str) -> str:
        """Why this object was left out, with all its problems; "" if it was not."""
        return " ".join(_sentences(self._found.get((kind, name), ())))

    def first_of(self, kind: str) -> str:
        """The same for the first object of a kind, with the number of all if there are more."""
        found = list(dict.fromkeys(each.name for each in self._kinds.get(kind, ())))
        if not found:
            return ""
        note = "" if len(found) == 1 else f", the first of {number(len(found))},"
        return " ".join(_sentences(self._found[kind, found[0]], note))

    def pods_of(self, names: set[str]) -> Iterator[str]:
        """Why pods were left out that belong to the workloads of these names, judged by theirs."""
        pods = (each for each in self._kinds.get("Pod", ()) if _is_of(each, names, of_pods=True))
        for name in dict.fromkeys(each.name for each in pods):
            yield self.sentence("Pod", name)

    def queues(self, name: str, cluster: Cluster | None) -> Iterator[str]:
        """Why a queue was left out, and the queues above it for which it was."""
        passed = set[str]()
        while ("Queue", name) in self and name not in passed:
            yield self.sentence("Queue", name)
            passed.add(name)
            queue = None if cluster is None else cluster._find("Queue", name)
            name = str(at(queue, "spec", "parentQueue"))

    def priority_of(self, group: str, cluster: Cluster | None) -> str:
        """Why the priority class of a pod group was left out; "" if it was not."""
        if cluster is None or "PriorityClass" not in self._kinds:
            return ""
        priority = at(cluster._find("PodGroup", group), "spec", "priorityClassName")
        return self.sentence("PriorityClass", str(priority))

    def needed_by(self, pod: str, cluster: Cluster | None) -> Iterator[str]:
        """Why objects were left out without which the pod, "namespace/name", cannot start."""
        manifest = None if cluster is None or not self._found else cluster._find("Pod", pod)
        if cluster is None or manifest is None:
            return
        for kind, name in needed_by(manifest, cluster):
            if found := self.sentence(kind, name):
                yield found


def _sentences(found: Iterable[Rejected], note: str = "") -> Iterator[str]:
    """About one object. `note`: after its name."""
    whole = []
    for each in found:
        if _is_of_a_part(each):
            problem = f"{each.kind} {each.name} was left out of the plan: {_why(each)}."
            yield f"{each.field} of {problem}"
        else:
            whole.append(each)
    if whole:
        problems = (f"{each.field}: {_why(each)}".removeprefix(": ") for each in whole)
        name = f"{whole[0].kind} {whole[0].name}{note}"
        yield f"{name} was left out of the plan: {'; '.join(problems)}."


def _why(rejected: Rejected) -> str:
    return tidy(rejected.message).rstrip(".")


def _is_of_a_part(rejected: Rejected) -> bool:
    """Whether the plan has the object, without this field."""
    field = rejected.field
    return rejected.kind == "PodGroup" and (
        field == "spec.subGroups" or field.startswith("metadata.annotations[")
    )


# ---- a name that is not in the plan --------------------------------------------------------------


def rejections(plan: Answer, name: str) -> list[Rejected]:
    """Why the object of this name, or its pods, were left out of the plan.

    Empty: the plan contains it, or there is no such object.
    """
    if not plan.rejected:
        return []
    groups = plan.situation.find_groups(name)
    names = {name}
    if len(groups) == 1:
        [(_, facts)] = plan.situation.groups(groups)
        if facts.pods:
            return []
        owners = (owner for owner, group in plan.situation.groups_of_owners if group == groups[0])
        names |= {groups[0], *owners}
    found = [each for each in plan.rejected if _is_of(each, names, of_pods=len(groups) == 1)]
    return found or [each for each in plan.rejected if _is_of(each, names, of_pods=True)]


def _is_of(rejected: Rejected, names: set[str], *, of_pods: bool) -> bool:
    """Whether the object has one of these names, or is a pod of a workload with one, judged by its
    name."""
    for name in names if rejected.name else ():
        own = rejected.name if "/" in name else rejected.name.partition("/")[2] or rejected.name
        if own == name or (of_pods and rejected.kind == "Pod" and own.startswith(f"{name}-")):
            return True
    return False


def why_rejected(found: Iterable[Rejected]) -> str:
    """A sentence for each object, with its problems below."""
    lines: dict[str, list[str]] = {}
    for each in found:
        message = " ".join(each.message.split())
        problem = f"  {each.field}: {message}" if each.field else f"  {message}"
        name = f"{each.kind} {each.name}".strip()
        what = f"A part of {name}" if _is_of_a_part(each) else name
        lines.setdefault(f"{what} was left out of the plan.", []).append(problem)
    return "\n".join(visible(line) for head, problem in lines.items() for line in (head, *problem))
