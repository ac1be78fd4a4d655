"""What was accepted and not shown is read after 15 s, and then after growing waits."""

from kai.controllers.unshown import MOST_WAIT_S, READ_AFTER_S, Accepted, Unshown

A, B = (Accepted("binding", "Pod", f"team/{name}", f"uid-{name}", 7) for name in "ab")


def reads(unshown: Unshown, until: float, *, is_open: bool = True) -> list[float]:
    """The times of all reads until then."""
    found = []
    while (at := unshown.next()) is not None and at <= until:
        found += [at] * len(unshown.due(at, lambda each: is_open))
    return found


def test_nothing_is_read_before_its_time() -> None:
    unshown = Unshown()
    assert unshown.next() is None
    unshown.add(100, A)
    assert unshown.next() == 100 + READ_AFTER_S
    assert unshown.due(114.9, lambda each: True) == []
    assert unshown.due(115, lambda each: True) == [A]


def test_waits_grow_up_to_a_limit() -> None:
    unshown = Unshown()
    unshown.add(0, A)
    assert reads(unshown, 1500) == [15, 45, 105, 225, 465, 705, 945, 1185, 1425]
    assert MOST_WAIT_S == 240


def test_what_a_watch_has_shown_is_never_read() -> None:
    unshown = Unshown()
    unshown.add(0, A)
    unshown.add(3, B)
    assert unshown.due(20, lambda each: each is B) == [B]
    assert len(unshown) == 1
    assert reads(unshown, 1000, is_open=False) == []
    assert unshown.next() is None


def test_many_accepted_within_a_second_are_looked_at_together() -> None:
    """Finding out what is open has a price that does not depend on their number."""
    unshown, looks = Unshown(), []
    for number in range(1000):
        unshown.add(number / 1000, Accepted("binding", "Pod", f"team/{number}"))
    while (at := unshown.next()) is not None:
        looks.append(at)
        unshown.due(at, lambda each: False)
    assert looks == [15, 16]


def test_a_write_that_is_accepted_twice_is_followed_twice() -> None:
    unshown = Unshown()
    unshown.add(0, A)
    unshown.add(10, A)
    assert unshown.due(15, lambda each: True) == [A]
    assert unshown.due(25, lambda each: True) == [A]
