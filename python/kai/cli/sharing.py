"""Options of `kai run` about GPUs that pods share."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

import click

from kai.api import keys

Command = TypeVar("Command", bound=Callable[..., object])


def resources(_: click.Context, option: click.Parameter, text: str | None) -> dict[str, Any]:
    """A JSON object with requests and limits."""
    try:
        found = json.loads(text or "{}")
    except ValueError as error:
        raise click.BadParameter(f"is no JSON: {error}", param=option) from None
    if not isinstance(found, dict):
        raise click.BadParameter("is no JSON object", param=option)
    return found


def sharing_options(command: Command) -> Command:
    """Members of kai.service.options.Options by name, with the names of KAI's binder."""
    for option in reversed(
        (
            click.option(
                "--resource-reservation-namespace",
                metavar="NAME",
                default=keys.RESERVATION,
                show_default=True,
                help="Where the pods are that hold shared GPUs.",
            ),
            click.option(
                "--resource-reservation-app-label",
                metavar="VALUE",
                default=keys.RESERVATION,
                help="Their label app; no other value than the default is accepted.",
            ),
            click.option(
                "--resource-reservation-service-account",
                metavar="NAME",
                default=keys.RESERVATION,
                show_default=True,
                help="Their service account.",
            ),
            click.option(
                "--resource-reservation-pod-image",
                metavar="IMAGE",
                default="",
                help="Their image [kai-sched of this version].",
            ),
            click.option(
                "--resource-reservation-pod-resources",
                metavar="JSON",
                callback=resources,
                help="Their requests and limits beside the GPU.",
            ),
            click.option(
                "--resource-reservation-allocation-timeout",
                metavar="SECONDS",
                type=click.FloatRange(min=0, min_open=True),
                default=40.0,
                show_default=True,
                help="How long their program may take to write which GPU they got.",
            ),
            click.option(
                "--runtime-class-name",
                metavar="NAME",
                default="",
                help="Their runtime class [that of the node].",
            ),
            click.option(
                "--fake-gpu-nodes",
                is_flag=True,
                help="Nodes are simulated: their program makes up a GPU.",
            ),
            click.option(
                "--cdi",
                is_flag=True,
                help="Pods that share a GPU get its name in CDI, not its UUID.",
            ),
            click.option(
                "--hami-core-enabled",
                "hami_core",
                is_flag=True,
                help="They get the memory limit that HAMi-core reads.",
            ),
        )
    ):
        command = option(command)
    return command
