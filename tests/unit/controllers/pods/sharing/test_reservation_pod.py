"""The pod that holds a device, beyond the recordings of KAI (tests/conformance)."""

from typing import Any

from kai.controllers.pods.sharing import Reservations, reservation_name, reservation_pod

TOLERATION = {"key": "nvidia.com/gpu", "operator": "Exists"}


def made(*tolerations: dict[str, Any], **options: Any) -> dict[str, Any]:
    return reservation_pod("n1", "g1", tolerations, Reservations(image="kai-sched:1", **options))


def test_each_group_and_node_have_one_reservation_name() -> None:
    names = {reservation_name(node, group) for node in ("n1", "n2") for group in ("g1", "g2")}
    assert len(names) == 4
    assert reservation_name("n1", "g1") in names


def test_a_reservation_has_the_tolerations_of_the_pod() -> None:
    assert made(TOLERATION)["spec"]["tolerations"] == [TOLERATION]
    assert "tolerations" not in made()["spec"]


def test_a_reservation_is_created_on_its_node() -> None:
    spec = made()["spec"]
    assert spec["nodeName"] == "n1"
    assert "schedulerName" not in spec


def test_the_installation_sets_other_resources_of_the_reservation() -> None:
    cpu = {"cpu": "1m", "memory": "10Mi"}
    many = {"nvidia.com/gpu": "4"}
    given = made(resources={"requests": {**cpu, **many}, "limits": many})
    assert given["spec"]["containers"][0]["resources"] == {
        "requests": {**cpu, "nvidia.com/gpu": "1"},
        "limits": {"nvidia.com/gpu": "1"},
    }


def test_the_installation_sets_namespace_account_label_and_runtime_class() -> None:
    given = made(namespace="gpus", app="holder", account="reader", runtime_class="nvidia")
    assert given["metadata"]["namespace"] == "gpus"
    assert given["metadata"]["labels"] == {"app": "holder", "runai-gpu-group": "g1"}
    assert given["spec"]["serviceAccountName"] == "reader"
    assert given["spec"]["runtimeClassName"] == "nvidia"
    assert "runtimeClassName" not in made()["spec"]


def test_reservations_on_simulated_nodes_use_a_fake_device() -> None:
    assert made()["spec"]["containers"][0]["args"] == ["run", "reservation"]
    assert made(fake=True)["spec"]["containers"][0]["args"] == ["run", "reservation", "--fake"]


def test_the_installation_restricts_reservation_pods() -> None:
    pod, container = {"runAsNonRoot": True}, {"capabilities": {"drop": ["ALL"]}}
    spec = made(pod_security=pod, container_security=container)["spec"]
    assert spec["securityContext"] == pod
    assert spec["containers"][0]["securityContext"] == container
    assert "securityContext" not in {*made()["spec"], *made()["spec"]["containers"][0]}
