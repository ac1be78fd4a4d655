"""Options of the webhooks, for `kai run admission` and `kai run all --webhooks`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kai.api import webhooks
from kai.cli.adding import added, flag, given_options, with_default

if TYPE_CHECKING:
    from kai.controllers.admission import Rules
    from kai.service.admission import AdmissionOptions


def codes(_: click.Context, option: click.Parameter, text: str | None) -> frozenset[str]:
    """Codes of `kai lint`, or their first words."""
    from kai.errors import InvalidRequestError
    from kai.linting.codes import matching

    try:
        return matching(text.split(",")) if text else frozenset()
    except InvalidRequestError as error:
        raise click.BadParameter(str(error), param=option) from None


review_options = added(
    with_default(
        "--gpu-fraction-runtime-class-name",
        "--gpu-pod-runtime-class-name",
        "runtime_class",
        metavar="NAME",
        default="nvidia",
        help='Runtime class of pods with a part of a GPU that name none; "": none.',
    ),
    with_default(
        "--guard-image",
        metavar="IMAGE",
        default="",
        help="Keep pods to their share of a GPU's memory, by the guard in this image of kai [off].",
    ),
    click.option(
        "--guard-shares/--no-guard-shares",
        default=True,
        help="Whether pods get it if neither they nor their queue choose [on].",
    ),
    flag(
        "--guard-required",
        help="Refuse pods that cannot have it, or let them wait; else they start without it.",
    ),
    flag(
        "--guard-mps-threads",
        help="Give pods with MPS their part of the compute time, too, besides the memory.",
    ),
    flag(
        "--block-nvidia-visible-devices",
        "blocks_devices",
        help="Hide GPUs from containers without one, and refuse containers that choose GPUs.",
    ),
    click.option(
        "--refuse",
        metavar="CODES",
        callback=codes,
        help="Also refuse objects with these findings of kai lint.",
    ),
    click.option(
        "--warn",
        metavar="CODES",
        callback=codes,
        help="Warn of these findings that KAI does not have, instead of refusing the object.",
    ),
    with_default(
        "--webhook-addr",
        "webhook_address",
        metavar="HOST:PORT",
        default=f":{webhooks.PORT}",
        help="Answer reviews there.",
    ),
)
"""The options that both commands have."""

trial_options = added(
    flag(
        "--webhooks",
        help="Also do the work of kai run admission, for trials only: while this process does not"
        " run, new objects are admitted unseen. The next ten options are for it.",
    ),
    click.option(
        "--webhook-url",
        metavar="https://HOST:PORT",
        help="Where the API server reaches it, without a Service: it registers itself there.",
    ),
    review_options,
)
"""`--webhooks`, `--webhook-url` and the options of reviews, for `webhooks_in`."""

TRIAL_DRAIN_S = 1.0
OF_GUARD = ("guard_image", "guard_shares", "guard_required", "guard_mps_threads")
"""Options of `kai.controllers.admission.Guard`."""


def webhooks_in(options: dict[str, Any]) -> AdmissionOptions | None:
    """Takes the values of `trial_options` out of the options of `kai run`; None: no `--webhooks`.

    Raises UsageError and InvalidInputError for values that cannot be used.
    """
    wanted = options.pop("webhooks")
    names = (
        "webhook_url", "webhook_address", "runtime_class", *OF_GUARD, "blocks_devices",
        "refuse", "warn",
    )  # fmt: skip
    taken = {name: options.pop(name) for name in names}
    if not wanted:
        for name, option in given_options().items():
            if name in taken:
                raise click.UsageError(f"{option} is for --webhooks")
        return None
    if options["shadow"]:
        raise click.UsageError(
            "--webhooks and --shadow exclude each other: a shadow writes nothing"
        )
    need_cryptography("kai run --webhooks")
    from kai.service.admission import AdmissionOptions

    return AdmissionOptions(
        rules=rules_of(
            taken["refuse"],
            taken["warn"],
            scheduler=options["scheduler_name"],
            sharing=True,
            hami=options["hami_core"],
            **{name: taken[name] for name in OF_GUARD},
            queue_label=options["queue_label_key"],
            blocks_devices=taken["blocks_devices"],
            runtime_class=taken["runtime_class"],
            as_kai=options["as_kai"],
        ),
        namespace=options["namespace"],
        webhook_address=checked_address(taken["webhook_address"]),
        policies=dict.fromkeys((each.kind for each in webhooks.WEBHOOKS), "Ignore"),
        url="" if taken["webhook_url"] is None else checked_url(taken["webhook_url"]),
        drain_s=TRIAL_DRAIN_S,
    )


def need_cryptography(command: str) -> None:
    """Raises InvalidInputError if the package for certificates is missing."""
    from kai.api import extras
    from kai.errors import InvalidInputError

    if missing := extras.missing("cryptography"):
        raise InvalidInputError(extras.needed(command, *missing))


def rules_of(refuse: frozenset[str], warn: frozenset[str], **members: Any) -> Rules:
    """`members`: of Rules, and those of its Guard with `guard_` before their names."""
    from kai.api.names import problem_of_image
    from kai.controllers.admission import REFUSED_BEYOND_KAI, Guard, Rules

    if both := sorted(refuse & warn):
        raise click.UsageError(f"--refuse and --warn both have {both[0]}")
    guard = Guard(**{name.removeprefix("guard_"): members.pop(name) for name in OF_GUARD})
    if guard.image and (why := problem_of_image(guard.image)):
        raise click.UsageError(f"--guard-image: {why}")
    for name, option in given_options().items():
        if name in OF_GUARD[1:] and not guard.image:
            raise click.UsageError(f"{option} needs --guard-image: without it no pod has the guard")
    return Rules(refused=(REFUSED_BEYOND_KAI | refuse) - warn, guard=guard, **members)


def checked_address(text: str) -> str:
    """The value of `--webhook-addr`. Raises InvalidInputError, before a connection is needed."""
    from kai.service.pages import addresses_in

    address = f":{text}" if text.isdecimal() else text  # KAI's flag of this name has a port
    addresses_in("--webhook-addr", address)
    return address


def checked_url(text: str) -> str:
    """The value of `--webhook-url`: "https://host:port". Raises InvalidInputError, whose message
    never has a password."""
    from urllib.parse import urlsplit

    from kai.errors import InvalidInputError

    if not text:
        raise InvalidInputError(
            "--webhook-url: it is empty: write https://HOST:PORT, or leave the option out for the"
            " Service of kai install"
        )
    if "@" in text:
        raise InvalidInputError(
            "--webhook-url: write https://HOST:PORT, without a user and a password"
        )
    try:
        found = urlsplit(text)
        is_right = found.scheme == "https" and bool(found.hostname and found.port)
    except ValueError:  # of the port, or of an IPv6 address
        is_right = False
    if not is_right or found.path not in ("", "/") or found.query or found.fragment:
        raise InvalidInputError(f"--webhook-url: {text!r} is not of the form https://HOST:PORT")
    host = found.hostname or ""
    if not _is_address(host):
        raise InvalidInputError(f"--webhook-url: {host!r} is not an address or a name of a host")
    return f"https://{found.netloc}"


def _is_address(host: str) -> bool:
    """Whether an API server can call a host of this name or IP address."""
    import ipaddress

    from kai.api.names import problem_of_name

    try:
        return not getattr(ipaddress.ip_address(host), "scope_id", None)
    except ValueError:
        return not problem_of_name(host)
