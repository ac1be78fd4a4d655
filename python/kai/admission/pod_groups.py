"""Checks of PodGroup objects: subgroups and their minimums (spec 5 A13).

KAI's webhook answers with the first mistake in the structure of the subgroups, or with all mistakes
in the minimums.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from kai.admission import answers
from kai.admission.finding import Finding, Path, refusal, warning
from kai.admission.trees import is_own_ancestor
from kai.api.reading import at, objects, text


def pod_group_refusals(pod_group: Mapping[str, Any]) -> Iterator[Finding]:
    """Why KAI's webhook would refuse a new PodGroup.

    A PodGroup with a resourceVersion was accepted by a cluster, perhaps without the webhook.
    """
    if not at(pod_group, "metadata", "resourceVersion"):
        yield from (each for each in check(pod_group) if each.refused)


def check(pod_group: Mapping[str, Any], *, updating: bool = False) -> list[Finding]:
    """All findings; those with `refused` in the order of KAI's webhook.

    updating: the object exists, and KAI only warns of some mistakes, for groups of older versions.
    """
    tree = _Tree.of(pod_group)
    wrong = next(_structure(tree), None)
    return [wrong] if wrong is not None else list(_minimums(tree, updating))


@dataclass(frozen=True, slots=True)
class _Part:
    """The root or a subgroup. The minimums are None if they are not set."""

    name: str
    where: Path
    parent: str
    pods: int | None
    subgroups: int | None

    @staticmethod
    def of(fields: Mapping[str, Any], where: Path) -> _Part:
        pods, subgroups = (_number(fields.get(each)) for each in ("minMember", "minSubGroup"))
        name, parent = (text(fields.get(each)) for each in ("name", "parent"))
        return _Part(name, where, parent, pods, subgroups)


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


@dataclass(frozen=True, slots=True)
class _Tree:
    """`parts`: the subgroups in the order of the object."""

    root: _Part
    parts: list[_Part]

    @staticmethod
    def of(pod_group: Mapping[str, Any]) -> _Tree:
        spec = at(pod_group, "spec")
        listed = enumerate(objects(at(spec, "subGroups")))
        where: Path = ("spec", "subGroups")
        parts = [_Part.of(each, (*where, index)) for index, each in listed]
        return _Tree(_Part.of(spec if isinstance(spec, Mapping) else {}, ("spec",)), parts)

    def children(self) -> Counter[str]:
        """The number of direct children, by name; those of the root by ""."""
        return Counter(each.parent for each in self.parts)


def _structure(tree: _Tree) -> Iterator[Finding]:
    root = tree.root
    if root.pods is not None and root.subgroups is not None:
        yield _wrong(
            "minSubGroup",
            root,
            "minMember and minSubGroup are both set",
            "write minMember for a number of pods, or minSubGroup for a number of subgroups",
            answers.GROUP_BOTH.format(pods=root.pods),
        )
    names = Counter(each.name for each in tree.parts)
    for each in (part for part in tree.parts if names[part.name] > 1):
        yield _wrong(
            "name",
            each,
            f"there are {names[each.name]} subgroups {each.name!r}",
            "write different names",
            answers.SUBGROUP_TWICE.format(name=each.name),
        )
    for each in (part for part in tree.parts if part.parent and part.parent not in names):
        yield _wrong(
            "parent",
            each,
            f"there is no subgroup {each.parent!r}, the parent of {each.name!r}",
            f"write one of {', '.join(sorted(names))}",
            answers.SUBGROUP_PARENT.format(parent=each.parent, name=each.name),
        )
    parents = {each.name: each.parent for each in tree.parts}
    for each in (part for part in tree.parts if is_own_ancestor(part.name, parents)):
        yield _wrong(
            "parent",
            each,
            f"subgroup {each.name!r} is its own ancestor",
            "write a parent that is not below it",
            answers.SUBGROUP_CYCLE,
        )
    for each in sorted(tree.parts, key=lambda part: part.name):
        if each.pods is not None and each.subgroups is not None:
            yield _wrong(
                "minSubGroup",
                each,
                f"subgroup {each.name!r} has both minMember and minSubGroup",
                "write minMember if it has pods, or minSubGroup if it has subgroups",
                answers.SUBGROUP_BOTH.format(name=each.name),
            )


def _wrong(field: str, part: _Part, message: str, fix: str, answer: str) -> Finding:
    return refusal("pod-group-structure", (*part.where, field), message, fix, answer=answer)


def _minimums(tree: _Tree, updating: bool) -> Iterator[Finding]:
    children = tree.children()
    for each in sorted(tree.parts, key=lambda part: part.name):
        if each.name in children:
            yield from _of_inner(each, children[each.name], updating)
        else:
            yield from _of_leaf(each)
    root = tree.root
    if root.subgroups is not None and root.subgroups > children[""]:
        answer = answers.ROOT_TOO_MANY.format(count=root.subgroups, children=children[""])
        yield _too_many(root, "the group", children[""], answer)


def _of_leaf(part: _Part) -> Iterator[Finding]:
    if part.subgroups is not None:
        yield refusal(
            "pod-group-minimum",
            (*part.where, "minSubGroup"),
            f"subgroup {part.name!r} has no subgroups",
            "write minMember",
            answer=answers.LEAF_MIN_SUBGROUP.format(name=part.name),
        )
    if part.pods is None:
        yield refusal(
            "pod-group-minimum",
            (*part.where, "minMember"),
            f"subgroup {part.name!r} has no minimum",
            "write minMember, the number of pods that must start together",
            answer=answers.LEAF_NO_MINIMUM.format(name=part.name),
        )


def _of_inner(part: _Part, children: int, updating: bool) -> Iterator[Finding]:
    if part.pods is not None:
        found = refusal(
            "pod-group-minimum",
            (*part.where, "minMember"),
            f"subgroup {part.name!r} has subgroups, and no pods of its own",
            "write minSubGroup",
            answer=answers.INNER_MIN_MEMBER.format(name=part.name),
        )
        yield replace(found, severity="warning", refused=False) if updating else found
    if part.subgroups is not None and part.subgroups > children:
        answer = answers.INNER_TOO_MANY.format(
            name=part.name, count=part.subgroups, children=children
        )
        yield _too_many(part, f"subgroup {part.name!r}", children, answer)


def _too_many(part: _Part, who: str, children: int, answer: str) -> Finding:
    found = warning(
        "pod-group-minimum",
        (*part.where, "minSubGroup"),
        f"{who} needs {part.subgroups} subgroups and has {children}: its pods never start",
        f"write at most {children}, or add subgroups",
    )
    return replace(found, answer=answer)
