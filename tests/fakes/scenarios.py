"""Tests that are coroutines.

scenario = scenarios(run)      # run(story, **options) gives a story its argument

@scenario(number=1)
async def test_the_first_candidate_leads(leases: Leases) -> None: ...
"""

from collections.abc import Callable
from typing import Any

Story = Callable[..., Any]


def scenarios(run: Callable[..., object]) -> Callable[..., Any]:
    def scenario(story: Story | None = None, **options: Any) -> Any:
        def decorate(story: Story) -> Callable[[], None]:
            def test() -> None:
                run(story, **options)

            test.__doc__ = story.__doc__
            return test

        return decorate if story is None else decorate(story)

    return scenario
