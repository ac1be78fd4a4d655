"""The pods that KAI's webhook rejects (spec 6 C18, C20, spec 3 A2, A3, A5).

What is wrong with a pod itself is found by `kai.admission`, as for `kai lint` and `kai plan`; here
are the reasons that depend on the installation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kai.admission import answers, gpus
from kai.admission.finding import Finding
from kai.admission.pods import pods_in
from kai.api import keys
from kai.api.reading import at, objects, text
from kai.controllers.admission.rules import Rules, without_device
from kai.controllers.sharing import shares_gpus
from kai.errors import NotFoundError


def refusals(pod: Mapping[str, Any], rules: Rules) -> list[str]:
    """Why KAI's webhook rejects the pod, its answer first; empty: it accepts the pod. The pod is
    checked as `mutate` returned it."""
    return [words for words, _ in _reasons(pod, rules)]


def refusal(pod: Mapping[str, Any], rules: Rules, before: Mapping[str, Any] | None = None) -> str:
    """Our answer: KAI's, and for a wrong fraction what is wrong with it, as KAI has one sentence
    for all of them; or what is refused beyond KAI, unless the pod had it `before` its change.
    "": the pod is accepted."""
    words, precisely = next(iter(_reasons(pod, rules)), ("", ""))
    if rules.as_kai:
        return words
    if words:
        return f"{words}: {precisely}" if precisely else words
    there = set(_beyond_kai(before or {}, rules))
    return next((each for each in _beyond_kai(pod, rules) if each not in there), "")


def _beyond_kai(pod: Mapping[str, Any], rules: Rules) -> Iterator[str]:
    for own in pods_in({**pod, "kind": "Pod"}):
        for each in gpus.request(own):
            if each.refused and not each.answer and each.code in rules.refused:
                yield f"{each.message}; {each.fix}"


def _reasons(pod: Mapping[str, Any], rules: Rules) -> list[tuple[str, str]]:
    """KAI's words, each with a more precise sentence or ""."""
    found = dict.fromkeys(_disabled(pod, rules), "")
    for own in pods_in({**pod, "kind": "Pod"}):
        for each in gpus.request(own):
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
