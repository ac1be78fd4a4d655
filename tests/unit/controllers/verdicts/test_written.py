"""Fields that are written, under way, or still to be written."""

from hypothesis import given
from hypothesis import strategies as st

from kai.controllers.verdicts.pace import Budget, Pace, Timers, shape
from kai.controllers.verdicts.written import Written


def test_an_equal_value_needs_no_write() -> None:
    written = Written({"a": 1})
    assert not written.want("a", 1)
    assert written.send() == {}


def test_a_later_patch_contains_all_unconfirmed_fields() -> None:
    written = Written()
    written.want("a", 1)
    assert written.send() == {"a": 1}
    written.want("b", 2)
    assert written.send() == {"a": 1, "b": 2}
    written.confirm(2)
    written.want("c", 3)
    assert written.send() == {"c": 3}


def test_an_answer_to_an_earlier_patch_confirms_nothing() -> None:
    written = Written()
    written.want("a", 1)
    written.send()
    written.want("a", 2)
    written.send()
    written.confirm(1)
    assert written.fail(1) is None
    assert not written.is_settled
    written.confirm(2)
    assert written.is_settled
    assert written.there == {"a": 2}


def test_a_reverted_change_needs_no_write() -> None:
    written = Written({"a": 1})
    written.want("a", 2)
    written.want("a", 1)
    assert written.send() == {}


def test_an_unknown_value_is_always_written() -> None:
    written = Written({"a": 1})
    written.want("a", 2)
    written.send()
    assert written.fail(1) == 1.0
    assert written.want("a", 1)
    assert written.send() == {"a": 1}


FIELDS = st.sampled_from("abc")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("want"), FIELDS, st.integers(0, 2)),
        st.tuples(st.sampled_from(["send", "done", "lost", "failed"]), FIELDS, st.just(0)),
    ),
    max_size=30,
)


@given(STEPS)
def test_the_last_wanted_values_are_written(steps: list[tuple[str, str, int]]) -> None:
    """Patches wait in a queue of length one, only the last is sent, and each may end in any way."""
    written, there = Written(), dict[str, int]()
    wishes: dict[str, int] = {}
    waiting: tuple[int, dict[str, int]] | None = None

    def send() -> None:
        nonlocal waiting
        if fields := written.send():
            waiting = (written.number, fields)

    def end(how: str) -> None:
        nonlocal waiting
        if waiting is None:
            return
        number, fields = waiting
        waiting = None
        if how != "failed":
            there.update(fields)
        if how == "done":
            written.confirm(number)
        else:
            written.fail(number)

    for step, field, value in steps:
        if step == "want":
            wishes[field] = value
            written.want(field, value)
        elif step == "send":
            send()
        else:
            end(step)
    for _ in range(3):
        send()
        end("done")
    assert there == wishes
    assert written.is_settled


def test_texts_that_differ_in_numbers_have_one_shape() -> None:
    text = "OverLimit: limit is 2 GPUs, currently 1.5 GPUs"
    assert shape(text) == shape(text.replace("1.5", "12").replace("2", "30"))
    assert shape(text) != shape(text.replace("GPUs", "cores"))


def test_a_budget_is_refilled_with_time() -> None:
    budget = Budget(5.0)
    assert sum(budget.take(100.0) for _ in range(50)) == 10
    assert budget.next(100.0) == 100.2
    assert sum(budget.take(101.0) for _ in range(50)) == 5
    assert sum(budget.take(1000.0) for _ in range(50)) == 10


def test_a_clock_that_goes_back_takes_nothing_from_a_budget() -> None:
    budget = Budget(5.0)
    budget.take(100.0)
    assert sum(budget.take(50.0) for _ in range(50)) == 9


def test_timers_return_due_names_at_the_last_set_time() -> None:
    timers = Timers()
    for name, at in (("a", 3.0), ("b", 1.0), ("c", 2.0), ("b", 4.0)):
        timers.set(name, at)
    timers.clear("c")
    assert timers.next() == 3.0
    assert list(timers.pop(3.5)) == ["a"]
    assert list(timers.pop(3.5)) == []
    assert list(timers.pop(4.0)) == ["b"]
    assert (timers.next(), len(timers)) == (None, 0)


def test_names_over_the_budget_stay_due() -> None:
    timers, budget = Timers(), Budget(1.0)
    for number in range(5):
        timers.set(f"n{number}", float(number))
    assert list(timers.pop(10.0, budget)) == ["n0", "n1"]
    assert list(timers.pop(11.0, budget)) == ["n2"]


def test_the_first_rewrite_with_new_counts_after_a_start_is_spread_over_a_minute() -> None:
    times = [Pace().next("counts", 0.0, f"team/pod-{number}") for number in range(1000)]
    assert 0 <= min(times) < 1
    assert 59 < max(times) <= 60
