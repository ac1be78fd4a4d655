"""What KAI's webhook of pods does to a new pod, and which pods it refuses (spec 6 C16-C21).

    rules = Rules(runtime_class="nvidia")
    try:
        patched = mutate(pod, rules, draw=draw)    # as it is to be created; `pod` stays as it is
        operations = json_patch(pod, patched)      # for the answer to the API server
    except NotFoundError as error:                 # refused: str(error)
        ...
    refused = refusals(patched, rules)             # KAI's sentences; the first is the answer

`mutation` and `validation` do this with a review of the API server, and make the answer to it.

No I/O. A second call changes nothing: the API server may call webhooks again.
"""

from kai.controllers.admission.mutating import mutate
from kai.controllers.admission.patches import json_patch
from kai.controllers.admission.refusing import refusals
from kai.controllers.admission.reviewing import MUTATE, VALIDATE, mutation, validation
from kai.controllers.admission.rules import Rules

__all__ = [
    "MUTATE",
    "VALIDATE",
    "Rules",
    "json_patch",
    "mutate",
    "mutation",
    "refusals",
    "validation",
]
