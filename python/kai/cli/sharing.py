"""Options of `kai run` about shared GPUs."""

from __future__ import annotations

from typing import Any

import click

from kai.api import keys
from kai.cli.adding import added, flag, json_of, with_default
from kai.cli.kai_flags import Seconds


def json_object(_: click.Context, option: click.Parameter, text: str | None) -> dict[str, Any]:
    """A JSON object; empty without a text."""
    found = json_of(text or "{}", option)
    if not isinstance(found, dict):
        raise click.BadParameter("not a JSON object", param=option)
    return found


sharing_options = added(
    with_default(
        "--resource-reservation-namespace",
        metavar="NAME",
        default=keys.RESERVATION,
        help="Namespace of the pods that hold shared GPUs (reservation pods).",
    ),
    click.option(
        "--resource-reservation-app-label",
        metavar="VALUE",
        default=keys.RESERVATION,
        help="Their label app; only the default is accepted.",
    ),
    with_default(
        "--resource-reservation-service-account",
        metavar="NAME",
        default=keys.RESERVATION,
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
        callback=json_object,
        help="Their requests and limits, except the GPU.",
    ),
    click.option(
        "--resource-reservation-pod-security-context",
        metavar="JSON",
        callback=json_object,
        help="The securityContext of their pods [none].",
    ),
    click.option(
        "--resource-reservation-container-security-context",
        metavar="JSON",
        callback=json_object,
        help="The securityContext of their containers [none].",
    ),
    with_default(
        "--resource-reservation-allocation-timeout",
        metavar="SECONDS",
        type=Seconds(min=0, min_open=True),
        default=40.0,
        help="Seconds in which their program must write the UUID of the GPU.",
    ),
    click.option(
        "--runtime-class-name",
        metavar="NAME",
        default="",
        help="Their runtime class [that of the node].",
    ),
    flag("--fake-gpu-nodes", help="For simulated nodes: their program generates a GPU UUID."),
    flag("--cdi", help="Give pods the CDI name of a shared GPU, not its UUID."),
    flag(
        "--hami-core-enabled",
        "hami_core",
        help="Give pods the GPU memory limit that HAMi-core reads.",
    ),
)
"""Members of kai.service.options.Options, with the option names of KAI's binder."""
