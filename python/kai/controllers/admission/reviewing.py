"""Answers the reviews that the API server sends to the webhooks (spec 6 C16-C21, 5 A7, A13, A28).

    reviews = Reviews(Rules(), draw=draw, known=Known())
    answer = reviews.answer("/mutate--v1-pod", review)

A review and its answer are AdmissionReviews of admission.k8s.io/v1. An answer depends on the review
and on the known queues and pod groups only, so a dry run needs no special care.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from kai import admission
from kai.admission import keys_of, pod_groups, queues
from kai.admission.finding import Finding
from kai.admission.queue_tree import Queues, check_queue_object
from kai.api.reading import at, mapping, text
from kai.api.webhooks import BY_PATH
from kai.controllers.admission.guarding import decide
from kai.controllers.admission.known import Known
from kai.controllers.admission.mutating import mutate
from kai.controllers.admission.patches import json_patch
from kai.controllers.admission.refusing import refusal
from kai.controllers.admission.rules import Rules
from kai.errors import NotFoundError

_LATER = "queue-without-parent"
"""A root queue is created before its children, so a review cannot tell it from a lonely leaf."""
_LONGEST_WARNING = 256
"""The API server cuts longer ones."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """`refused`: why the object is rejected; "": it is admitted. `patch`: its changes."""

    refused: str = ""
    warnings: tuple[str, ...] = ()
    patch: tuple[Mapping[str, Any], ...] = ()


class Reviews:
    """`draw` returns that many random characters, for the names of ConfigMaps."""

    def __init__(self, rules: Rules, *, draw: Callable[[int], str], known: Known) -> None:
        self._rules, self._draw, self._known = rules, draw, known
        self._of_kind: dict[str, Callable[[Mapping[str, Any]], Verdict]] = {
            "Pod": self._pod,
            "Topology": self._topology,
            "Queue": self._queue,
            "PodGroup": self._pod_group,
        }

    def answer(self, path: str, review: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a review that was sent to one of the paths of kai.api.webhooks."""
        webhook = BY_PATH[path]
        request = mapping(review.get("request"))
        if webhook.mutates:
            return _answer(request, self._changed_pod(request))
        if at(request, "object", "metadata", "deletionTimestamp"):
            return _answer(request, Verdict())  # its finalizers must be removable
        return _answer(request, self._of_kind[webhook.kind](request))

    # ---- pods ------------------------------------------------------------------------------------

    def _changed_pod(self, request: Mapping[str, Any]) -> Verdict:
        pod = mapping(request.get("object"))
        if not self._is_ours(pod):
            return Verdict()
        own, requested = text(at(pod, "metadata", "namespace")), text(request.get("namespace"))
        if own and requested and own != requested:
            return Verdict(
                f"error: the namespace from the provided object {own} does not match the namespace"
                f" {requested}"
            )
        try:
            guarding = decide(pod, self._rules, self._known)
            changed = mutate(pod, self._rules, draw=self._draw, guarded=guarding.is_guarded)
        except NotFoundError as error:
            return Verdict(str(error))
        if guarding.problem and self._rules.guard.required and not guarding.is_guarded:
            return Verdict(guarding.problem)
        warnings = (*([guarding.problem] if guarding.problem else ()), *guarding.notes)
        return Verdict(warnings=warnings, patch=tuple(json_patch(pod, changed)))

    def _pod(self, request: Mapping[str, Any]) -> Verdict:
        pod = mapping(request.get("object"))
        before = mapping(request.get("oldObject"))
        return Verdict(refusal(pod, self._rules, before) if self._is_ours(pod) else "")

    def _is_ours(self, pod: Mapping[str, Any]) -> bool:
        return text(at(pod, "spec", "schedulerName")) == self._rules.scheduler

    # ---- kinds of KAI ----------------------------------------------------------------------------

    def _topology(self, request: Mapping[str, Any]) -> Verdict:
        return self._of_findings(admission.topology_refusals(mapping(request.get("object"))))

    def _pod_group(self, request: Mapping[str, Any]) -> Verdict:
        updating = request.get("operation") == "UPDATE"
        found = pod_groups.check(mapping(request.get("object")), updating=updating)
        return self._of_findings(found, all_answers=True)

    def _queue(self, request: Mapping[str, Any]) -> Verdict:
        known = self._known.parents()
        if request.get("operation") == "DELETE":
            if known is None or self._rules.as_kai:
                return Verdict()
            name = text(at(request, "oldObject", "metadata", "name"))
            groups = self._known.groups_of(name)
            return self._of_findings(Queues(known, complete=True).check_deletion(name, groups))
        queue = mapping(request.get("object"))
        for each in queues.without_resources(queue):  # KAI repeats its answer as a warning
            return Verdict(each.answer, (each.answer,))
        if self._rules.as_kai:
            return Verdict()
        before = at(request, "oldObject")
        there = () if before is None else self._findings(mapping(before))
        accepted = {(each.code, each.path) for each in there}
        return self._of_findings(self._findings(queue), accepted=accepted)

    def _findings(self, queue: Mapping[str, Any]) -> list[Finding]:
        """Those about a queue among the known ones; first why plans leave it out."""
        found = [
            replace(each, message=f"{each.path}: {each.message}")
            for each in queues.queue_refusals(queue)
        ]
        found += keys_of.check(mapping(queue.get("metadata")), ("metadata",), "queue")
        known = self._known.parents()
        name, parent = text(at(queue, "metadata", "name")), text(at(queue, "spec", "parentQueue"))
        tree = Queues({**(known or {}), name: parent or None}, complete=known is not None)
        skipped = (_LATER,) if known is not None else (_LATER, "queue-parent-unknown")
        found += [each for each in check_queue_object(queue, tree) if each.code not in skipped]
        return found

    def _of_findings(
        self,
        findings: Iterable[Finding],
        *,
        all_answers: bool = False,
        accepted: Container[tuple[str, str]] = (),
    ) -> Verdict:
        """Refuses with KAI's answers, the first or all of them, or with the first finding that is
        refused beyond KAI. `accepted`: codes and paths of findings that the object already
        had."""
        refused: list[str] = []
        warnings: list[str] = []
        beyond: list[str] = []
        for each in findings:
            if each.answer:
                (refused if each.refused else warnings).append(each.answer)
            elif not self._rules.as_kai:
                is_new = (each.code, each.path) not in accepted
                is_refused = is_new and each.code in self._rules.refused
                (beyond if is_refused else warnings).append(f"{each.message}; {each.fix}")
        refused = refused or beyond
        return Verdict("\n".join(refused if all_answers else refused[:1]), tuple(warnings))


def _answer(request: Mapping[str, Any], verdict: Verdict) -> dict[str, Any]:
    response: dict[str, Any] = {"uid": text(request.get("uid")), "allowed": not verdict.refused}
    if verdict.refused:
        reason = {"code": 403, "reason": "Forbidden", "message": verdict.refused}
        response["status"] = reason
    if verdict.patch:
        encoded = base64.b64encode(json.dumps(verdict.patch).encode()).decode()
        response |= {"patchType": "JSONPatch", "patch": encoded}
    if verdict.warnings:
        response["warnings"] = [each[:_LONGEST_WARNING] for each in verdict.warnings]
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": response,
    }
