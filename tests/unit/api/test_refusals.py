"""Refusals in messages of an API server, as Kubernetes 1.34 to 1.36 writes them."""

import pytest

from kai.api.refusals import Refusal, refusal

CALL = 'failed to call webhook: Post "https://w.policies.svc:443/check?timeout=10s": '
REFUSED = "dial tcp 10.96.7.1:443: connect: connection refused"
EXCEEDED = "exceeded quota: pods, requested: pods=1, used: pods=1, limited: pods=1"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            'admission webhook "w.example.com" denied the request: no GPUs on Fridays',
            Refusal("webhook", "w.example.com", "no GPUs on Fridays"),
        ),
        (
            'admission webhook "w" denied the request without explanation',
            Refusal("webhook", "w", ""),
        ),
        (
            f'Internal error occurred: failed calling webhook "w.example.com": {CALL}{REFUSED}',
            Refusal("webhook", "w.example.com", REFUSED, answered=False),
        ),
        (
            f'Internal error occurred: failed calling webhook "w": {CALL}context deadline exceeded',
            Refusal("webhook", "w", "context deadline exceeded", answered=False),
        ),
        (
            'Internal error occurred: failed calling webhook "w": received invalid answer',
            Refusal("webhook", "w", "received invalid answer", answered=False),
        ),
        (
            'Internal error occurred: failed calling webhook "w"; no further details available',
            Refusal("webhook", "w", "", answered=False),
        ),
        (
            "podgroups.scheduling.run.ai \"g\" is forbidden: ValidatingAdmissionPolicy 'sizes' with"
            " binding 'all' denied request: failed expression: object.spec.minMember < 8",
            Refusal("policy", "sizes", "failed expression: object.spec.minMember < 8"),
        ),
        (
            "pods \"a\" is forbidden: policy 'p' with binding 'b' denied request: no such key: x",
            Refusal("policy", "p", "no such key: x"),
        ),
        (f'pods "a" is forbidden: {EXCEEDED}', Refusal("quota", "pods", EXCEEDED)),
        (
            'pods "a" is forbidden: failed quota: cpus: must specify limits.cpu for: main',
            Refusal("quota", "cpus", "must specify limits.cpu for: main"),
        ),
        (
            'pods "a" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot != true',
            Refusal("security", "restricted:latest", "runAsNonRoot != true"),
        ),
        (
            'pods "a" is forbidden: pod rejected: RuntimeClass "nvidia" not found',
            Refusal("rule", "", 'pod rejected: RuntimeClass "nvidia" not found'),
        ),
    ],
)
def test_each_kind_of_refusal_is_recognized_in_an_answer_and_inside_a_longer_text(
    text: str, expected: Refusal
) -> None:
    assert refusal(text) == expected
    assert refusal(f"its pod group cannot be created: {text}", inside=True) == expected
    assert refusal(f"its pod group cannot be created: {text}") is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "etcdserver: request timed out",
        'pods "a" is forbidden: User "ann" cannot create resource "pods/binding" in API group ""',
        'Pod "a" is invalid: metadata.labels: Invalid value: "admission webhook denied"',
        "Cannot evict pod as it would violate the pod's disruption budget.",
        'conversion webhook for scheduling.run.ai/v2, Kind=Queue failed: Post "https://x": refused',
        'Operation cannot be fulfilled on pods/binding "a": pod a is already assigned to node "n1"',
    ],
)
def test_other_answers_are_no_refusals(text: str) -> None:
    """A conversion webhook also runs after an object was stored."""
    assert refusal(text) is None


@pytest.mark.parametrize(
    ("webhook", "fix"),
    [
        (
            "podgroup-validation.kai.scheduler",
            "kubectl delete validatingwebhookconfiguration kai-podgroup-validation-v2alpha2",
        ),
        ("queue-validation.kai.scheduler", "kai-queue-validation-v2"),
        ("admission.gpu-team.svc", "kubectl scale deployment admission -n gpu-team --replicas=1"),
        ("topology.admission.kai-scheduler.svc", "scale deployment admission -n kai-scheduler"),
        ("w.example.com", "delete its registration: kubectl get validatingwebhookconfigurations"),
    ],
)
def test_the_fix_of_a_webhook_that_does_not_answer(webhook: str, fix: str) -> None:
    found = refusal(f'Internal error occurred: failed calling webhook "{webhook}": {CALL}{REFUSED}')
    assert found is not None
    assert fix in found.fix
    assert found.sentence == f'the webhook "{webhook}" cannot be called: {REFUSED}'
