"""The decorators that turn functions into policies."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Literal, overload

from kai.errors import InvalidConfigError

Kind = Literal["score", "filter", "pod_group_order"]
Function = Callable[..., Any]


class Policy:
    """A function that was declared with a decorator of `kai.policy`.

    `kind`: "score", "filter" or "pod_group_order". `whole`: it is called with the whole table;
    otherwise with the rows that have changed. Calling the policy calls the function.

    >>> import kai
    >>> @kai.policy.filter
    ... def small_nodes(pod, nodes):
    ...     return nodes.gpus <= 4
    >>> small_nodes
    <kai.policy.filter small_nodes, row-wise>
    """

    def __init__(self, kind: Kind, function: Function, *, whole: bool) -> None:
        if not callable(function):
            raise InvalidConfigError(
                f"kai.policy.{kind}: expects a function, not a {type(function).__name__}"
            )
        self.kind: Kind = kind
        self.function = function
        self.whole = whole
        self.name = getattr(function, "__name__", type(function).__name__)
        self.found_by: tuple[Any, ...] | None = None
        """For a policy from `load`: a function that finds it again, and its arguments."""
        functools.update_wrapper(self, function)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self.function(*arguments, **named)

    def __reduce__(self) -> str | tuple[Any, ...]:
        if self.found_by is not None:
            return self.found_by
        # Like functions: by its name in its module.
        return str(getattr(self.function, "__qualname__", self.name))

    def __repr__(self) -> str:
        how = "whole table" if self.whole else "row-wise"
        return f"<kai.policy.{self.kind} {self.name}, {how}>"


@overload
def score(function: Function, /) -> Policy: ...
@overload
def score(*, whole_table: bool = False) -> Callable[[Function], Policy]: ...
def score(
    function: Function | None = None, /, *, whole_table: bool = False
) -> Policy | Callable[[Function], Policy]:
    """Declares ``function(pod, nodes)``: how well each node suits the pod; the highest score wins.

    `pod` is a `Pod`, `nodes` are the `Nodes` that fit it. Returns scores, an array of numbers with
    one per row, without NaN or infinity; or a pair of scores and GPUs. The second array has for
    each row the column of ``nodes.gpu_idle_milli`` whose GPU a pod with a fraction gets, or -1 for
    no choice.

    The scores replace KAI's packing and spreading (`nodeplacement`, `resourcetype`,
    `gpusharingorder`) and `placementpolicy`, and are added to those of other plugins. A node where
    the pod can start now has 1,000 more than one where it has to wait: keep scores between 0 and
    100. Among equal sums the first name wins. With several functions, the scores are added, and the
    last function chooses the GPUs.

    Raises InvalidConfigError if the argument is not a function.
    """
    return _declare("score", function, whole_table)


@overload
def filter(function: Function, /) -> Policy: ...
@overload
def filter(*, whole_table: bool = False) -> Callable[[Function], Policy]: ...
def filter(
    function: Function | None = None, /, *, whole_table: bool = False
) -> Policy | Callable[[Function], Policy]:
    """Declares ``function(pod, nodes)``: the nodes on which the pod may run.

    Returns an array of booleans, one per row of `nodes`. The rows are nodes of any kind, with room
    or without. Nodes that KAI's own filters reject stay rejected. A pod group that waits because of
    this policy gets the message "node(s) were refused by a policy that was given as a function".

    Raises InvalidConfigError if the argument is not a function.
    """
    return _declare("filter", function, whole_table)


def pod_group_order(function: Function, /) -> Policy:
    """Declares ``function(groups)``: the order in which waiting pod groups are tried.

    `groups` is a `Groups`: all pod groups with a waiting pod, at the start of a cycle. Returns an
    array of numbers, one per row, without NaN: within a queue the lowest is first, and among equal
    ones KAI's own order decides (priority, elastic state, age). Fair shares still decide
    which queue is next. The order of victims does not change.

    Raises InvalidConfigError if the argument is not a function.
    """
    return Policy("pod_group_order", function, whole=True)


def _declare(
    kind: Kind, function: Function | None, whole: bool
) -> Policy | Callable[[Function], Policy]:
    if function is None:
        return lambda declared: Policy(kind, declared, whole=whole)
    return Policy(kind, function, whole=whole)
