"""Invalid options are rejected in one sentence."""

from typing import Any

import pytest
from click.testing import CliRunner

from kai.cli.run import command
from kai.controllers.pods.sharing import Reservations
from kai.errors import InvalidInputError
from kai.install.manifests import default_image
from kai.service.options import Options


@pytest.mark.parametrize(
    "times",
    [
        {"lease_seconds": 10.0},
        {"renew_seconds": 15.0},
        {"retry_seconds": 10.0},
        {"lease_seconds": 2.0, "renew_seconds": 1.0, "retry_seconds": 1.0},
    ],
)
def test_the_renew_deadline_must_be_below_the_lease_duration(times: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match="each must be longer than the next one"):
        Options(**times)


def test_an_unknown_way_to_bind() -> None:
    with pytest.raises(InvalidInputError) as refusal:
        Options(binding="bind-request")  # type: ignore[arg-type]
    assert str(refusal.value) == (
        "binding must be direct or bind-requests, not 'bind-request'; did you mean 'bind-requests'?"
    )
    with pytest.raises(InvalidInputError, match="eviction must be delete or evict, not 3"):
        Options(eviction=3)  # type: ignore[arg-type]


def test_the_role_binder_has_the_lease_of_kais_binder() -> None:
    assert Options(roles=("binder",)).leases() == ("2ad35f9c.kai.scheduler",)
    assert Options(roles=("scheduler", "binder"), node_pool="blue").leases() == (
        "2ad35f9c.kai.scheduler",
        "kai-scheduler-blue",
    )


def test_the_lease_of_a_node_pool_has_a_name_that_the_api_server_accepts() -> None:
    """The value of a label may have upper-case letters; the name of a lease must not."""
    [first] = Options(roles=("scheduler",), node_pool="Pool_A").leases()
    [second] = Options(roles=("scheduler",), node_pool="pool_a").leases()
    assert first.startswith("kai-scheduler-pool-a-")
    assert second.startswith("kai-scheduler-pool-a-")
    assert first != second


def test_the_command_line_sets_the_times_of_leases() -> None:
    arguments = ["all", "--leader-elect-lease-duration", "5"]
    error = CliRunner().invoke(command, arguments).exception
    assert isinstance(error, InvalidInputError)
    assert str(error) == (
        "leader election: a lease of 5 s, a renew deadline of 10 s and a retry period of 5 s: each"
        " must be longer than the next one"
    )


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (
            {"resource_reservation_app_label": "holder"},
            "the label app of reservation pods must be kai-resource-reservation, not 'holder':"
            " the scheduler finds them by it",
        ),
        (
            {"resource_reservation_allocation_timeout": 0.0},
            "the resource reservation allocation timeout must be longer than 0 s, not 0 s",
        ),
        (
            {"resource_reservation_pod_resources": {"cpu": "1m"}},
            "resources of reservation pods must be requests and limits, each with amounts by name,"
            " not cpu: '1m'",
        ),
        (
            {"resource_reservation_pod_resources": {"limits": {"memory": "much"}}},
            "resources of reservation pods: limits of memory is 'much': write a quantity such as"
            " 10m or 64Mi",
        ),
    ],
)
def test_invalid_reservation_pod_options(options: dict[str, Any], why: str) -> None:
    with pytest.raises(InvalidInputError) as refusal:
        Options(**options)
    assert str(refusal.value) == why


def test_reservation_pods_have_kais_defaults() -> None:
    assert Options().reservations() == Reservations(image=default_image())
    resources = {"requests": {"cpu": "10m"}}
    chosen = Options(
        resource_reservation_namespace="gpus",
        resource_reservation_service_account="reader",
        resource_reservation_pod_image="registry/kai:1",
        resource_reservation_pod_resources=resources,
        resource_reservation_allocation_timeout=5.0,
        runtime_class_name="nvidia",
        fake_gpu_nodes=True,
    )
    assert chosen.reservations() == Reservations(
        image="registry/kai:1",
        namespace="gpus",
        account="reader",
        resources=resources,
        timeout=5.0,
        runtime_class="nvidia",
        fake=True,
    )
