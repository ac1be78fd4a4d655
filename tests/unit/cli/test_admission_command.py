"""kai run admission, and kai run all --webhooks: their options, and mistakes in their arguments,
each named in one sentence before it connects."""

from collections.abc import Callable
from typing import Any

import pytest

import kai.service
from kai.controllers.admission import Guard
from kai.service.options import Options

Run = Callable[..., Any]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--webhook-addr", "x:y"], "--webhook-addr: 'x:y' is not of the form HOST:PORT"),
        (["--webhook-addr", "99999999"], "--webhook-addr: port 99999999 is larger than 65535"),
        (["--listen-address", ":99999"], "--listen-address: port 99999 is larger than 65535"),
        (["--failure-policy", "Pods=Fail"], "'Pods=Fail' is not of the form KIND=Fail"),
        (["--failure-policy", "Pod=Ignore,Pod=Fail"], "has Pod twice"),
        (["--certificate-days", "nan"], "--certificate-days: nan is not a number of days"),
        (["--certificate-days", "inf"], "--certificate-days: inf is not in the range"),
        (["--secret-name", "A_B"], '--secret-name: "A_B" is not a name of lower-case letters'),
        (["--service-name", "a.b"], '--service-name: "a.b" is not a name of lower-case letters'),
        (["--namespace", "Kai"], '--namespace: "Kai" is not a name of lower-case letters'),
        (["--secret-name", ""], '--secret-name: "" is not a name'),
        (["--guard-image", "a b"], "--guard-image: 'a b' is not the name of an image"),
        (["--refuse", "queue-cykle"], "did you mean 'queue-cycle'?"),
        (["--refuse", "queue-cycle", "--warn", "queue"], "--refuse and --warn both have"),
    ],
)
def test_a_wrong_argument_is_one_sentence(run: Run, arguments: list[str], message: str) -> None:
    pytest.importorskip("cryptography")
    done = run("run", "admission", *arguments, "--kubeconfig", "missing.yaml")
    assert done.status == 2
    assert message in done.err
    assert len(done.err.strip().splitlines()) == 1


# ---- in the process of the scheduler -------------------------------------------------------------


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Options, Any]]:
    """The options with which the service and the webhooks would have run."""
    pytest.importorskip("cryptography")
    seen: list[tuple[Options, Any]] = []

    def serve(options: Options, *, webhooks: Any = None, **_: Any) -> None:
        seen.append((options, webhooks))

    monkeypatch.setattr(kai.service, "serve", serve)
    return seen


def test_without_the_option_there_are_no_webhooks(run: Run, given: list[Any]) -> None:
    assert run("run", "all").status == 0
    [(_, webhooks)] = given
    assert webhooks is None


def test_webhooks_beside_the_scheduler_never_refuse_while_they_are_away(
    run: Run, given: list[Any]
) -> None:
    arguments = ["--webhooks", "--webhook-url", "https://192.0.2.7:9443/", "--webhook-addr", "9443"]
    arguments += ["--scheduler-name", "other", "--gpu-fraction-runtime-class-name", ""]
    arguments += ["--warn", "queue-parent-unknown", "--hami-core-enabled", "--namespace", "here"]
    done = run("run", "all", *arguments)
    assert (done.status, done.err) == (0, "")
    [(options, webhooks)] = given
    assert set(webhooks.policies.values()) == {"Ignore"}
    assert set(webhooks.policies) == {"Pod", "Queue", "PodGroup", "Topology"}
    assert (webhooks.url, webhooks.webhook_address) == ("https://192.0.2.7:9443", ":9443")
    assert (webhooks.host, webhooks.namespace, options.namespace) == ("192.0.2.7", "here", "here")
    rules = webhooks.rules
    assert (rules.scheduler, rules.runtime_class, rules.sharing) == ("other", "", True)
    assert rules.hami is options.hami_core is True
    assert "queue-parent-unknown" not in rules.refused


def test_the_guard_has_an_image_a_default_and_may_be_required(run: Run, given: list[Any]) -> None:
    assert run("run", "all", "--webhooks").status == 0
    image = ["--guard-image", "kai:1"]
    assert run("run", "all", "--webhooks", *image).status == 0
    more = ["--no-guard-shares", "--guard-required", "--queue-label-key", "team"]
    assert run("run", "all", "--webhooks", *image, *more).status == 0
    rules = [webhooks.rules for _, webhooks in given]
    guards = [Guard(), Guard("kai:1"), Guard("kai:1", shares=False, required=True)]
    assert [each.guard for each in rules] == guards
    assert [each.queue_label for each in rules] == ["kai.scheduler/queue"] * 2 + ["team"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--webhook-addr", ":1"], "--webhook-addr is for --webhooks"),
        (["--warn", "queue-cycle"], "--warn is for --webhooks"),
        (["--no-guard-shares"], "--guard-shares is for --webhooks"),
        (["--webhooks", "--guard-required"], "--guard-required needs --guard-image: without it"),
        (["--webhooks", "--guard-mps-threads"], "--guard-mps-threads needs --guard-image"),
        (["--webhooks", "--no-guard-shares"], "--guard-shares needs --guard-image"),
        (["--webhooks", "--webhook-addr", "x:y"], "--webhook-addr: 'x:y' is not of the form"),
        (["--webhooks", "--webhook-url", "http://x:1"], "is not of the form https://HOST:PORT"),
        (["--webhooks", "--webhook-url", "https://x:1/p"], "is not of the form https://HOST:PORT"),
        (["--webhooks", "--webhook-url", "https://[::1"], "is not of the form https://HOST:PORT"),
        (["--webhooks", "--webhook-url", "https://x:99999"], "is not of the form"),
        (["--webhooks", "--webhook-url", "https://127.0.0.1"], "is not of the form https://HOST"),
        (["--webhooks", "--webhook-url", "https://foo_bar:9443"], "'foo_bar' is not"),
        (["--webhooks", "--webhook-url", "https://[fe80::1%eth0]:1"], "is not an address"),
        (["--webhooks", "--webhook-url", ""], "--webhook-url: it is empty: write https://HOST"),
        (["--webhook-url", ""], "--webhook-url is for --webhooks"),
        (["--webhooks", "--shadow"], "--webhooks and --shadow exclude each other"),
        (["--webhooks", "--refuse", "queue", "--warn", "queue-cycle"], "--refuse and --warn both"),
    ],
)
def test_a_wrong_argument_of_a_trial_is_one_sentence(
    run: Run, given: list[Any], arguments: list[str], message: str
) -> None:
    done = run("run", "all", *arguments)
    assert (done.status, given) == (2, [])
    assert message in done.err
    assert len(done.err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    "url", ["https://user:secret@h:1", "http://user:secret@h:1/p", "https://user:secret@foo_bar"]
)
def test_a_password_in_the_url_of_the_webhooks_is_refused_and_not_repeated(
    run: Run, given: list[Any], url: str
) -> None:
    done = run("run", "all", "--webhooks", "--webhook-url", url)
    assert (done.status, given) == (2, [])
    assert "--webhook-url: write https://HOST:PORT, without a user and a password" in done.err
    assert "secret" not in done.out + done.err


@pytest.mark.parametrize(
    ("url", "used"),
    [
        ("https://host.example:9443/", "https://host.example:9443"),
        ("https://[::1]:1", "https://[::1]:1"),
        ("https://localhost:1?", "https://localhost:1"),
    ],
)
def test_a_url_of_the_webhooks_has_a_host_and_a_port(
    run: Run, given: list[Any], url: str, used: str
) -> None:
    assert run("run", "all", "--webhooks", "--webhook-url", url).status == 0
    [(_, webhooks)] = given
    assert webhooks.url == used
