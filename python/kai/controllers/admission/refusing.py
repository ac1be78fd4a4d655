"""The pods that KAI's webhook rejects (spec 6 C18, C20, spec 3 A2, A3, A5).

What is wrong with a pod itself is found by `kai.admission`, as for `kai lint` and `kai plan`; here
are the reasons that depend on the installation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kai.admission import answers, gpus, guards, keys_of
from kai.admission.finding import Finding
from kai.admission.pods import Pod, pods_in
from kai.api import keys
from kai.api.reading import at, objects, text
from kai.controllers.admission.rules import Rules, without_device
from kai.controllers.pods.sharing import shares_gpus
from kai.errors import NotFoundError


def refusals(pod: Mapping[str, Any], rules: Rules) -> list[str]:
    """Why KAI's webhook rejects the pod, its answer first; empty: it accepts the pod. The pod is
    checked as `mutate` returned it."""
    return [words for words, _ in _reasons(pod, rules, _findings(pod))]


def refusal(pod: Mapping[str, Any], rules: Rules, before: Mapping[str, Any] | None = None) -> str:
    """Our answer: KAI's, and for a wrong fraction what is wrong with it, as KAI has one sentence
    for all of them; or what is refused beyond KAI, unless the pod had it `before` its change.
    "": the pod is accepted."""
    findings = _findings(pod)
    words, precisely = next(iter(_reasons(pod, rules, findings)), ("", ""))
    if rules.as_kai:
        return words
    if words:
        return f"{words}: {precisely}" if precisely else words
    beyond = _beyond_kai(findings, rules)
    if beyond and before is not None:
        there = _beyond_kai(_findings(before), rules)
        beyond = [each for each in beyond if each not in there]
    return next(iter(beyond), "")


def _findings(pod: Mapping[str, Any]) -> list[Finding]:
    return [each for own in pods_in({**pod, "kind": "Pod"}) for each in _of_pod(own)]


def _of_pod(pod: Pod) -> Iterator[Finding]:
    yield from gpus.request(pod)
    yield from gpus.unknown_resources(pod)
    yield from keys_of.check(pod.metadata, pod.metadata_at, "pod", has_gpu=gpus.has_gpu(pod))
    yield from guards.check(pod)


def _beyond_kai(findings: Iterable[Finding], rules: Rules) -> list[str]:
    return [
        f"{each.message}; {each.fix}"
        for each in findings
        if not each.answer and each.code in rules.refused
    ]


def _reasons(
    pod: Mapping[str, Any], rules: Rules, findings: Iterable[Finding]
) -> list[tuple[str, str]]:
    """KAI's words, each with a more precise sentence or ""."""
    found = dict.fromkeys(_disabled(pod, rules), "")
    for each in findings:
        if each.answer:
            found.setdefault(each.answer, _precisely(each))
    if rules.blocks_devices:
        try:
            found |= dict.fromkeys(_of_devices(pod), "")
        except NotFoundError as error:  # the container of the part: found above, if any has a name
            found.setdefault(str(error), "")
    return list(found.items())


def _precisely(found: Finding) -> str:
    if found.code != "fraction-refused":
        return ""
    return f"{found.message.removeprefix('KAI refuses ')} is not; {found.fix}"


def _disabled(pod: Mapping[str, Any], rules: Rules) -> Iterator[str]:
    if shares_gpus(pod) and not rules.sharing:
        name = "/".join(text(at(pod, "metadata", each)) for each in ("namespace", "name"))
        yield answers.SHARING_DISABLED.format(pod=name)


def _of_devices(pod: Mapping[str, Any]) -> Iterator[str]:
    for _, _, container in without_device(pod):
        for each in objects(container.get("env")):
            if each.get("name") != keys.VISIBLE_DEVICES_ENV:
                continue
            name, value = text(container.get("name")), text(each.get("value"))
            if each.get("valueFrom") is not None:
                yield answers.VISIBLE_REFERENCE.format(container=name)
            elif value not in ("", "void", "none"):
                yield answers.VISIBLE_VALUE.format(container=name, value=value)
