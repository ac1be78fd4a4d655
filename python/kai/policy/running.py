"""Called by the compiled core: converts its tables to arrays, calls policies, checks their results.

A policy that fails, or returns an invalid result, ends the cycle with a `kai.PolicyError`. The core
works in the thread that called it, so the exception is stored per thread.
"""

from __future__ import annotations

import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from kai.api import extras
from kai.errors import InvalidConfigError, PolicyError
from kai.policy.declaring import Policy
from kai.policy.tables import Groups, Nodes, Pod, TypicalPods

if TYPE_CHECKING:
    from kai import _core

_raised = threading.local()  # the policy's exception that ends the cycle of this thread


def configured(config: _core.Config, policies: Sequence[Policy]) -> _core.Config:
    """The configuration with these policies; unchanged without any.

    Raises InvalidConfigError for an object that is not a policy, and if NumPy is missing.
    """
    return config.with_policies(Runner(policies)) if policies else config


@contextmanager
def causes() -> Iterator[None]:
    """Sets the policy's exception as the cause of a `kai.PolicyError`; Ctrl-C stays
    KeyboardInterrupt."""
    _raised.error = None
    try:
        yield
    except PolicyError as error:
        raised: BaseException | None = _raised.error
        if raised is None:
            raise
        if not isinstance(raised, Exception):
            raise raised from None
        raise error from raised
    finally:
        _raised.error = None


def _numpy() -> Any:
    try:
        import numpy
    except ImportError:
        raise InvalidConfigError(extras.needed("a policy in Python", "numpy")) from None
    return numpy


class Runner:
    """Policies in the form for the core. One runner serves many cycles, also in several threads."""

    def __init__(self, policies: Sequence[Policy]) -> None:
        _numpy()
        for each in policies:
            if not isinstance(each, Policy):
                raise InvalidConfigError(
                    f"policies: {getattr(each, '__name__', each)!r} is not a policy; write "
                    "@kai.policy.score, @kai.policy.filter or @kai.policy.pod_group_order above it"
                )
        self.scores = [each for each in policies if each.kind == "score"]
        self.filters = [each for each in policies if each.kind == "filter"]
        orders = [each for each in policies if each.kind == "pod_group_order"]
        if len(orders) > 1:
            names = " and ".join(each.name for each in orders)
            raise InvalidConfigError(
                f"policies: {names} both order pod groups, but only one policy can"
            )
        self.order = orders[0] if orders else None
        self._typical: tuple[object, TypicalPods] | None = None

    def begin(self, facts: _core.PolicyFacts) -> Run:
        """The policies for one cluster."""
        return Run(self, facts)

    def typical_pods(self, facts: _core.PolicyFacts) -> TypicalPods:
        """The same object as in the previous cycle while the mix of pods does not change."""
        rows = facts.typical_pods()
        kept = self._typical
        if kept is not None and kept[0] == rows:
            return kept[1]
        np = _numpy()
        names = ("cpu_milli", "gpus", "gpu_milli", "weight")
        columns = {
            name: np.array([row[i] for row in rows], dtype=np.int64) for i, name in enumerate(names)
        }
        columns["allowed"] = np.array([row[4] for row in rows], dtype=bool).reshape(len(rows), -1)
        for each in columns.values():
            each.setflags(write=False)
        made = TypicalPods(**columns)
        self._typical = (rows, made)
        return made


class Run:
    """The policies for one cluster, in one or more cycles.

    Methods return None, or an error message.
    """

    def __init__(self, runner: Runner, facts: _core.PolicyFacts) -> None:
        self._np = _numpy()
        self._runner = runner
        self._facts = facts
        self._columns = facts.nodes()
        answers = facts.answers()
        self._score_out = answers["score"]
        self._gpu_out = answers["gpu"]
        self._allowed_out = answers["allowed"]
        self._cards = self._columns["gpu_idle_milli"].shape[1]
        # By number of rows: the views of a table are the same each time.
        self._tables: dict[int, Nodes] = {}
        self._mix: TypicalPods | None = None
        self._orders = 0  # calls of `order`

    # ---- called by the core ----------------------------------------------------------------------

    def score(self, which: int, rows: int, *request: int) -> str | None:
        policy = self._runner.scores[which]
        try:
            answer = policy.function(Pod(*request), self._nodes(rows))
            scores, cards = answer if type(answer) is tuple and len(answer) == 2 else (answer, None)
            self._score_out[:rows] = self._numbers(scores, rows, "score", self._node)
            self._gpu_out[:rows] = -1 if cards is None else self._chosen(cards, rows)
        except BaseException as error:
            return _failure(policy, error)
        return None

    def filter(self, which: int, rows: int, *request: int) -> str | None:
        policy = self._runner.filters[which]
        try:
            answer = policy.function(Pod(*request), self._nodes(rows))
            self._array(answer, rows, "booleans")
            if answer.dtype.kind != "b":
                raise _Wrong(f"returned an array of {answer.dtype} instead of booleans")
            self._allowed_out[:rows] = answer
        except BaseException as error:
            return _failure(policy, error)
        return None

    def order(self, rows: int) -> str | None:
        policy = self._runner.order
        assert policy is not None
        facts = self._facts
        try:
            columns = facts.groups()
            columns["preemptible"] = columns["preemptible"].view(bool)
            self._orders += 1
            names = partial(self._group_names, self._orders)
            groups = Groups(**columns, _names=names, _queue_names=facts.queue_names)
            keys = self._numbers(
                policy.function(groups), rows, "key", lambda row: facts.group_names(row + 1)[row]
            )
            facts.answers()["key"][:] = keys
        except BaseException as error:
            return _failure(policy, error)
        return None

    # ---- tables and answers ----------------------------------------------------------------------

    def _nodes(self, rows: int) -> Nodes:
        table = self._tables.get(rows)
        if table is None:
            views = {name: each[:rows] for name, each in self._columns.items()}
            table = Nodes(**views, _names=self._facts.node_names, _typical=self._typical_pods)
            self._tables[rows] = table
        return table

    def _typical_pods(self) -> TypicalPods:
        if self._mix is None:
            self._mix = self._runner.typical_pods(self._facts)
        return self._mix

    def _group_names(self, of_order: int, rows: int) -> Sequence[str]:
        """Raises ValueError for the table of an earlier cycle, whose groups may be gone."""
        if of_order != self._orders:
            raise ValueError(
                "this table belongs to a cycle that has ended: copy the values that you keep"
            )
        return self._facts.group_names(rows)

    def _node(self, row: int) -> str:
        return f"node {self._facts.node_names(row + 1)[row]}"

    def _array(self, answer: Any, rows: int, what: str) -> None:
        if type(answer) is not self._np.ndarray:
            given = "nothing" if answer is None else f"a {type(answer).__name__}"
            raise _Wrong(f"returned {given} instead of a NumPy array of {rows} {what}")
        if answer.shape != (rows,):
            raise _Wrong(
                f"returned an array of shape {answer.shape} instead of "
                f"({rows},): {what}, one per row"
            )

    def _numbers(self, answer: Any, rows: int, what: str, row_name: Any) -> Any:
        self._array(answer, rows, "numbers")
        if answer.dtype.kind not in "fiu":
            raise _Wrong(f"returned an array of {answer.dtype} instead of numbers")
        if answer.dtype.kind == "f" and not self._np.isfinite(answer).all():
            row = int(self._np.argmin(self._np.isfinite(answer)))
            raise _Wrong(f"the {what} of {row_name(row)} is {answer[row]}")
        return answer

    def _chosen(self, cards: Any, rows: int) -> Any:
        self._array(cards, rows, "GPUs")
        if cards.dtype.kind not in "iu":
            raise _Wrong(f"returned GPUs of {cards.dtype} instead of integers")
        wrong = (cards < -1) | (cards >= self._cards)
        if wrong.any():
            row = int(wrong.argmax())
            raise _Wrong(
                f"chose GPU {cards[row]} of {self._node(row)}, but GPUs are 0 to "
                f"{self._cards - 1}, or -1 for no choice"
            )
        return cards


class _Wrong(Exception):
    """A result that cannot be used."""


def _failure(policy: Policy, error: BaseException) -> str:
    """One sentence with the policy and its failing line; the exception is stored."""
    code = getattr(policy.function, "__code__", None)
    file = None if code is None else code.co_filename
    line = None if code is None else code.co_firstlineno
    if isinstance(error, _Wrong):
        message = str(error)
    else:
        _raised.error = error
        message = f"{type(error).__name__}: {error}"
        for frame in traceback.extract_tb(error.__traceback__):
            if frame.filename == file:
                line = frame.lineno
    place = "" if file is None else f" ({file}, line {line})"
    return f"policy {policy.name}{place}: {message}"
