"""Another scheduler next to a shadow, described briefly: the plans, and its actions.

other = OtherScheduler()
other.waits("a", "b")
other.plan(a=bind("n1"))
other.binds("a", "n1")
other.outcomes() == ["bind a: same"]
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from kai.controllers.shadow import (
    Chosen,
    Compared,
    Comparison,
    GroupSeen,
    Planned,
    PodSeen,
    RequestSeen,
    explained,
)

SWITCHES = ("one", "two", "three")
Choices = dict[str, Chosen]


def bind(node: str, *gpu_groups: str) -> Chosen:
    return Chosen("bind", node, frozenset(gpu_groups))


def evict(for_group: str = "team/high", action: str = "preempt") -> Chosen:
    return Chosen("evict", action=action, for_group=for_group)


class Replay:
    """The result of planning again: `otherwise` by switches, `renamed` with other names."""

    def __init__(self, same: Choices) -> None:
        self.same = same
        self.otherwise: Callable[[tuple[str, ...]], Choices] = lambda switches: self.same
        self.renamed: Mapping[tuple[str, str], Choices] = {}
        self.tried: list[tuple[str, ...]] = []

    def __call__(
        self, *, switches: Sequence[str] = (), new_names: tuple[str, str] | None = None
    ) -> Choices | None:
        if new_names is not None:
            one, other = new_names
            swap = {one: other, other: one}
            moved = {k: replace(v, node=swap.get(v.node, v.node)) for k, v in self.same.items()}
            return self.renamed.get(new_names, moved)  # it is the same node under its new name
        self.tried.append(tuple(switches))
        return self.otherwise(tuple(switches))


class OtherScheduler:
    def __init__(self, patience: float = 10.0) -> None:
        self.now = 100.0
        self.comparison = Comparison(patience=patience)
        self.pods: dict[str, PodSeen] = {}
        self.requests: dict[str, RequestSeen] = {}
        self.replay = Replay({})
        self.reasons: dict[str, str] = {}
        self._cycle = self._count = 0

    def waits(self, *names: str, group: str = "", shape: str = "") -> None:
        for name in names:
            self._count += 1
            seen = PodSeen(
                *(f"team/{name}", f"uid-{self._count}", "", f"team/{group or name}"),
                *(frozenset(), False, False, False, shape or name),
            )
            self._pod(name, seen)

    def runs(self, name: str, node: str, group: str = "", shape: str = "") -> None:
        self.waits(name, group=group, shape=shape)
        self._pod(name, replace(self.pods[name], node=node))

    def plan(self, *, left_out: Mapping[str, str] | None = None, **chosen: Chosen) -> Replay:
        """Pods with a place in it that are new are waiting pods."""
        self._cycle += 1
        placed = (name for name, each in chosen.items() if each.kind != "evict")
        self.waits(*(name for name in placed if name not in self.pods))
        choices = {f"team/{name.replace('_', '-')}": each for name, each in chosen.items()}
        self.replay = Replay(choices)
        plan = Planned(
            *(self._cycle, self.now, choices, self.replay, left_out or {}),
            reason=lambda pod: self.reasons.get(pod, ""),
        )
        self.comparison.planned(plan)
        return self.replay

    def after(self, seconds: float) -> None:
        self.now += seconds
        self.comparison.tick(self.now)

    # ---- what the other scheduler does -----------------------------------------------------------

    def asks_for(self, name: str, node: str, *gpu_groups: str) -> None:
        """A BindRequest."""
        self._count += 1
        made = RequestSeen(
            *(f"request-{self._count}", f"team/{name}", self.pods[name].uid, node),
            *(frozenset(gpu_groups), False),
        )
        self._request(name, made)

    def fails(self, name: str) -> None:
        self._request(name, replace(self.requests[name], has_failed=True))

    def takes_back(self, name: str) -> None:
        self.comparison.request(self.now, self.requests.pop(name), None)

    def binds(self, name: str, node: str, *gpu_groups: str) -> None:
        """The pod has a node."""
        self._pod(name, replace(self.pods[name], node=node, gpu_groups=frozenset(gpu_groups)))

    def evicts(self, *names: str, stamped: bool = True) -> None:
        for name in names:
            self._pod(name, replace(self.pods[name], is_leaving=True))
            if stamped:
                self.stamps(self.pods[name].group)

    def stamps(self, group: str) -> None:
        """The group's time stamp records an eviction of its pods."""
        self.comparison.group(self.now, None, GroupSeen(group, f"at {self.now}"))

    def preempts(self, name: str) -> None:
        """In kube-scheduler's form."""
        self._pod(name, replace(self.pods[name], is_leaving=True, is_victim=True))

    def removes(self, name: str) -> None:
        self.comparison.pod(self.now, self.pods.pop(name), None)

    def _pod(self, name: str, after: PodSeen) -> None:
        self.comparison.pod(self.now, self.pods.get(name), after)
        self.pods[name] = after

    def _request(self, name: str, after: RequestSeen) -> None:
        self.comparison.request(self.now, self.requests.get(name), after)
        self.requests[name] = after

    # ---- what comes of it ------------------------------------------------------------------------

    def compared(self) -> list[Compared]:
        self.comparison.tick(self.now)
        return [explained(case, SWITCHES) for case in self.comparison.take()]

    def outcomes(self) -> list[str]:
        """ "bind a: same", "evict b: extra, because of switch one"."""
        return [_in_words(each) for each in self.compared()]


def _in_words(found: Compared) -> str:
    message = f"{found.subject} {found.pod.partition('/')[2]}: {found.outcome}"
    because = " ".join((found.cause, *found.switches))
    return f"{message}, because of {because}" if because else message
