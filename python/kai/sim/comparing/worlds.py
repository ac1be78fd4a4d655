"""The world of a seed: all sides of a comparison use the same world with the same seed.

    worlds = Worlds(workload, vary=("weeks", "failures"), life=life)
    world = worlds.world(3)
    simulate(world.workload, life=world.life, seed=world.seed, config=...)

* ``weeks``: the weeks of the workload in a random order (`kai.sim.variants.bootstrap`, without
  replacement).
* ``estimates``: `kai.sim.variants.with_estimates`, with the seed plus 2^32, so that the errors do
  not depend on the weeks that were drawn.
* ``failures``: nodes fail according to `Life.failures`, with the seed. A world that does not vary
  them has the failures of seed 0, if `life` has any.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kai.api.nearest import check_known
from kai.errors import InvalidInputError
from kai.sim.generators import DAY_S
from kai.sim.simulate import Failures, Life
from kai.sim.variants import bootstrap, drawn_blocks, whole_blocks, with_estimates
from kai.sim.workload import Workload

__all__ = ["NO_LIFE", "VARIES", "WEEK_S", "World", "Worlds"]

WEEK_S = 7 * DAY_S

VARIES = ("weeks", "estimates", "failures")
"""What a seed may vary."""

NO_LIFE = Life()
USUAL_FAILURES = Failures(mean_days_between=30.0)
_ESTIMATES = 1 << 32


@dataclass(frozen=True)
class World:
    """The arguments of `kai.sim.simulate.simulate` besides the configuration.

    ``weeks``: the weeks of the original workload, in the order in which they are here.
    """

    workload: Workload
    life: Life
    seed: int
    weeks: tuple[int, ...]


@dataclass(frozen=True)
class Worlds:
    """The worlds of all seeds.

    ``vary``: some of `VARIES`, or None: weeks, if the workload lasts for two or more. ``weeks``:
    how many a world has; default: as many as the workload. ``estimate_error``: as for
    `with_estimates`. If failures vary and ``life`` has none, a node fails every 30 days.

    Raises InvalidInputError for an unknown name.
    """

    workload: Workload
    vary: Sequence[str] | None = None
    weeks: int | None = None
    estimate_error: float = 0.5
    life: Life = NO_LIFE

    def __post_init__(self) -> None:
        vary = self.vary
        if vary is None:
            vary = ("weeks",) if self.whole_weeks >= 2 else ()
        elif isinstance(vary, str):
            raise InvalidInputError(f"vary: expected a list of names, not the string {vary!r}")
        check_known(vary, VARIES, "vary: a seed cannot vary", lists_all=True)
        if "failures" in vary and self.life.failures is None:
            object.__setattr__(self, "life", replace(self.life, failures=USUAL_FAILURES))
        object.__setattr__(self, "vary", tuple(name for name in VARIES if name in vary))

    @property
    def names(self) -> tuple[str, ...]:
        """What varies, in the order of `VARIES`."""
        return tuple(self.vary or ())

    @property
    def whole_weeks(self) -> int:
        """How many weeks the workload has (`kai.sim.variants.whole_blocks`)."""
        return whole_blocks(self.workload)

    def world(self, seed: int) -> World:
        """The world of a seed. Raises InvalidInputError as the functions do that create it."""
        workload = self.workload
        whole = self.whole_weeks
        weeks = tuple(range(whole))
        if "weeks" in self.names:
            workload = bootstrap(workload, seed, weeks=self.weeks, replacement=False)
            count = whole if self.weeks is None else self.weeks
            weeks = tuple(drawn_blocks(whole, count, seed, replacement=False).tolist())
        if "estimates" in self.names:
            workload = with_estimates(workload, _ESTIMATES + seed, error=self.estimate_error)
        return World(workload, self.life, seed if "failures" in self.names else 0, weeks)

    def sentences(self) -> tuple[str, ...]:
        """What a seed varies, for people."""
        found = []
        if "weeks" in self.names:
            count = self.whole_weeks if self.weeks is None else self.weeks
            found.append(f"the order of weeks: {count} out of {self.whole_weeks}")
        if "estimates" in self.names:
            found.append(f"estimates: log-normal error of {self.estimate_error:g}")
        if "failures" in self.names:
            failures = self.life.failures
            assert failures is not None
            found.append(
                f"failures: each node fails every {failures.mean_days_between:g} days on average, "
                f"for {failures.mean_repair_hours:g} h"
            )
        return tuple(found)
