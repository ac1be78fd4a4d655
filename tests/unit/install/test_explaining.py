"""The Service of /explain reaches the programs that plan, and every user may reach the Service."""

from typing import Any

import pytest

from kai.install import explaining, manifests
from kai.live.asking import SERVICE

Object = dict[str, Any]


def installed(*, separate: bool) -> dict[tuple[str, str], Object]:
    made = manifests.everything(namespace="gpu", separate=separate)
    return {(each["kind"], each["metadata"]["name"]): each for each in made}


@pytest.mark.parametrize("separate", [False, True])
def test_the_service_selects_the_program_that_plans(separate: bool) -> None:
    made = installed(separate=separate)
    service = made["Service", SERVICE]
    chosen = service["spec"]["selector"].items()
    selected = [
        each
        for (kind, _), each in made.items()
        if kind == "Deployment" and chosen <= each["spec"]["template"]["metadata"]["labels"].items()
    ]
    [deployment] = selected
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    assert container["args"][:2] == ["run", "scheduler" if separate else "all"]
    at = container["args"].index("--explain-address")
    [port] = service["spec"]["ports"]
    assert container["args"][at + 1] == f":{port['targetPort']}"
    assert port["targetPort"] in [each["containerPort"] for each in container["ports"]]
    others = [each for (kind, _), each in made.items() if kind == "Deployment"]
    with_it = [each for each in others if "--explain-address" in str(each)]
    assert with_it == [deployment]


def test_every_user_may_reach_only_this_service() -> None:
    made = installed(separate=False)
    [rule] = made["Role", SERVICE]["rules"]
    assert rule == {
        "apiGroups": [""],
        "resources": ["services/proxy"],
        "resourceNames": [SERVICE],
        "verbs": ["get"],
    }
    [subject] = made["RoleBinding", SERVICE]["subjects"]
    assert (subject["kind"], subject["name"]) == ("Group", "system:authenticated")
    assert made["Role", SERVICE]["metadata"]["namespace"] == "gpu"


def test_the_program_may_ask_who_calls_and_what_the_caller_may_do() -> None:
    made = installed(separate=False)
    [binding] = [each for (kind, name), each in made.items() if name == "gpu:kai-explain"][1:]
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "kai", "namespace": "gpu"}]
    granted = {(rule.resource, verb) for rule in explaining.RULES for verb in rule.verbs}
    assert granted == {
        ("tokenreviews", "create"),
        ("subjectaccessreviews", "create"),
        ("podgroups", "get"),
    }
