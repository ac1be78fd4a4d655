"""The differences between two timelines of the same jobs."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import HOUR, teams

from kai.errors import InvalidInputError
from kai.sim.simulate import simulate
from kai.sim.timeline import Timeline


def test_a_timeline_has_no_difference_to_itself(morning: Timeline) -> None:
    found = morning.diff(morning)
    assert not found
    assert found.rows == ()
    assert str(found) == "8 jobs, which start and end at the same times"


def test_changed_jobs_are_rows_with_the_largest_change_first(
    morning: Timeline, quiet: Timeline
) -> None:
    found = quiet.diff(morning)
    moved = np.nan_to_num(morning.jobs["end_s"] - quiet.jobs["end_s"])
    names = np.array(quiet.workload.jobs.name)
    assert sorted(row.job for row in found.rows) == sorted(names[moved != 0])
    sizes = [abs(row.end_later_s or 0) for row in found.rows]
    assert sizes == sorted(sizes, reverse=True)
    assert found.total.end_later_s == pytest.approx(moved.sum())
    assert found.total.ends_later == (moved > 0).sum()
    assert sum(each.end_later_s for each in found.queues) == pytest.approx(found.total.end_later_s)
    assert [each.queue for each in found.queues] == ["research", "speech", "vision"]


def test_the_reverse_difference_has_opposite_signs(morning: Timeline, quiet: Timeline) -> None:
    there, back = quiet.diff(morning).total, morning.diff(quiet).total
    assert there.end_later_s == -back.end_later_s
    assert (there.ends_later, there.ends_earlier) == (back.ends_earlier, back.ends_later)


def test_a_job_that_ends_in_one_timeline_only_is_first() -> None:
    whole, cut = simulate(teams()), simulate(teams(), until_s=4 * HOUR)
    found = whole.diff(cut)
    once = [row for row in found.rows if (row.end_s is None) != (row.other_end_s is None)]
    assert once
    assert found.rows[: len(once)] == tuple(once)
    assert found.total.ends_in_one == len(once)
    assert all(row.end_later_s is None for row in once)
    table = found.to_pandas()
    assert table["end_later_s"].isna().sum() == len(once)
    assert list(table["job"]) == [row.job for row in found.rows]


def test_the_order_of_jobs_does_not_matter(quiet: Timeline) -> None:
    workload = teams()
    backwards = replace(workload, jobs=workload.jobs.take(np.arange(8)[::-1]))
    assert not quiet.diff(simulate(backwards))


def test_timelines_of_other_jobs_cannot_be_compared(quiet: Timeline) -> None:
    workload = teams()
    fewer = simulate(replace(workload, jobs=workload.jobs.take(np.arange(7))))
    with pytest.raises(
        InvalidInputError, match="job never: it is in only one of the two timelines"
    ):
        quiet.diff(fewer)
    moved = replace(workload, jobs=workload.jobs.with_coded(queue=["speech"] * 8))
    with pytest.raises(InvalidInputError, match=r"job \w+: .* in different queues"):
        quiet.diff(simulate(moved))
