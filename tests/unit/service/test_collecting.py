"""Large garbage collections wait for idle moments, and all are timed."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from kai.service.collecting import MIDDLE, MUCH, WHOLE_EVERY_S, YOUNG, Collecting


class Cycle:
    def __init__(self) -> None:
        self.myself = self


@pytest.fixture
def collecting() -> Iterator[Collecting]:
    with Collecting() as made:
        gc.collect()
        yield made
    gc.unfreeze()


def make_much() -> list[list[int]]:
    """Enough containers that an idle moment is used."""
    return [[] for _ in range((MUCH + 1) * YOUNG)]


def test_new_objects_are_collected_in_an_idle_moment(collecting: Collecting) -> None:
    full = collecting.count[2]
    assert not collecting.is_idle(0), "hardly anything is new"
    cycle = Cycle()
    garbage, much = weakref.ref(cycle), make_much()
    del cycle
    assert garbage() is not None, "it has survived the collections of the youngest"
    assert collecting.count[0] > 0
    assert collecting.count[1:] == [0, full], "no other one ran meanwhile"
    assert collecting.is_idle(0)
    assert garbage() is None
    assert collecting.count[2] == full + 1
    assert collecting.longest[2] >= collecting.total[2] / collecting.count[2] > 0
    assert not collecting.is_idle(0)
    del much


def test_old_objects_are_collected_once_an_hour(collecting: Collecting) -> None:
    cycle, much = Cycle(), make_much()
    garbage = weakref.ref(cycle)
    assert collecting.is_idle(0)
    del cycle
    much += make_much()
    assert collecting.is_idle(1)
    assert garbage() is not None
    much += make_much()
    assert collecting.is_idle(WHOLE_EVERY_S)
    assert garbage() is None
    assert gc.get_freeze_count() > len(much)


def test_thresholds_are_restored_at_the_end() -> None:
    before, callbacks = gc.get_threshold(), [*gc.callbacks]
    with Collecting():
        assert gc.get_threshold() == (YOUNG, MIDDLE, before[2])
    assert gc.get_threshold() == before
    assert gc.callbacks == callbacks
