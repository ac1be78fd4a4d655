"""Tests that are coroutines.

scenario = scenarios(play, "cluster")    # play(cluster, story, *arguments, **options), a coroutine

@scenario(seconds=9)
async def test_pods_are_bound(scene: Scene, *, mode: str) -> None: ...

The first parameters come from `play`, those after `*` from pytest, like `cluster`.
"""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial, wraps
from inspect import Parameter, Signature, signature
from typing import Any

Story = Callable[..., Any]


def scenarios(run: Callable[..., object], *fixtures: str) -> Callable[..., Any]:
    def scenario(*arguments: Any, **options: Any) -> Any:
        def decorate(story: Story) -> Callable[..., None]:
            every = signature(story).parameters.values()
            own = [each.name for each in every if each.kind is Parameter.KEYWORD_ONLY]

            @wraps(story)
            def test(**given: Any) -> None:
                chosen = partial(story, **{name: given[name] for name in own})
                played = run(*(given[name] for name in fixtures), chosen, *arguments, **options)
                if isinstance(played, Coroutine):
                    asyncio.run(played)

            names = dict.fromkeys((*fixtures, *own))
            parameters = [Parameter(name, Parameter.KEYWORD_ONLY) for name in names]
            test.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
            return test

        if len(arguments) == 1 and callable(arguments[0]):
            [story], arguments = arguments, ()
            return decorate(story)
        return decorate

    return scenario


in_a_loop = scenarios(lambda story: story())
"""A test without a scene of its own."""
