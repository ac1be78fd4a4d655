"""The answers of KAI's fair-share simulator (spec 1 F125), compared with the formula itself."""

import json
import math
import random
from functools import reduce
from operator import add
from typing import Any

import pytest

from kai.errors import InvalidInputError
from kai.sim import fair_shares


def queue(uid: str, **share: float) -> dict[str, Any]:
    return {"uid": uid, "resourceShare": {"gpu": share}}


def gpus(total: float, *queues: dict[str, Any]) -> list[float]:
    answer = fair_shares({"totalResource": {"GPU": total}, "queues": list(queues)})
    return [answer[each["uid"]]["gpu"] for each in queues]


def test_the_example_of_the_simulator() -> None:
    """Spec 1 F125: if CPU and memory are missing, all of them is deserved."""
    request = {
        "totalResource": {"GPU": 100, "CPU": 16_000, "Memory": 32_000_000},
        "queues": [
            queue("a", deserved=10, request=100, overQuotaWeight=3),
            queue("b", deserved=10, request=100, overQuotaWeight=1),
        ],
    }
    assert fair_shares(request) == {
        "a": {"gpu": 70, "cpu": 16_000, "memory": 100_000},
        "b": {"gpu": 30, "cpu": 16_000, "memory": 100_000},
    }
    assert fair_shares(json.dumps(request)) == fair_shares(request)


def test_defaults_of_a_share() -> None:
    assert gpus(10, {"uid": "a"}) == [10]  # deserved 0, no limit, weight 1, request 100000
    assert gpus(10, queue("a", overQuotaWeight=0)) == [0]
    assert gpus(10, queue("a", maxAllowed=4)) == [4]
    answer = fair_shares({"totalResource": {"CPU": 9}, "queues": [{"uid": "a"}]})
    assert answer["a"] == {"gpu": 0, "cpu": 9, "memory": 0}
    explicit = {"uid": "a", "resourceShare": {"cpu": {}}}  # given, so it deserves 0
    other = {"uid": "b", "resourceShare": {"cpu": {"deserved": 4}}}
    answer = fair_shares({"totalResource": {"CPU": 10}, "queues": [explicit, other]})
    assert (answer["a"]["cpu"], answer["b"]["cpu"]) == (3, 7)


def test_past_usage_and_earlier_shares_are_ignored() -> None:
    past = {"fairShare": 9, "absoluteUsage": 5, "vacantAdjustedUsage": 5, "allocated": 7}
    assert gpus(9, queue("a", **past), queue("b")) == [5, 4]


def test_all_queues_are_siblings() -> None:
    parent = {**queue("org", deserved=4, request=4), "childQueues": ["a"]}
    child = {**queue("a", deserved=4, request=4), "parentQueue": "org"}
    assert gpus(4, parent, child) == [4, 4]


def test_the_default_priority_is_0() -> None:
    assert gpus(6, queue("a"), {**queue("b"), "priority": 1}) == [0, 6]
    assert gpus(6, queue("a"), {**queue("b"), "priority": -1}) == [6, 0]


def test_the_older_queue_gets_the_odd_unit() -> None:
    old, new = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"
    young, aged = {**queue("a"), "creationTimestamp": new}, {**queue("b"), "creationTimestamp": old}
    assert gpus(3, young, aged) == [1, 2]
    for none in ("", "yesterday", None):
        assert gpus(3, {**queue("a"), "creationTimestamp": none}, young | {"uid": "z"}) == [1, 2]
    assert gpus(3, queue("b"), queue("a")) == [1, 2]


def test_names_are_read_in_any_case() -> None:
    given = {"TOTALRESOURCE": {"gpu": 4}, "Queues": [{"UID": "a", "resourceshare": {}}]}
    assert fair_shares(given)["a"]["gpu"] == 4


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ("{", "not valid JSON: it ends in the middle of a value, on line 1 (cut short?)"),
        ("[]", "the request is a list, not an object"),
        ({"queues": 7}, "queues: is not a list"),
        ({"queues": ["a"]}, "queues[0]: is not an object: 'a'"),
        ({"queues": [{}]}, "queues[0]: uid: is not a string: None"),
        (
            {"queues": [{"uid": "a", "priority": 0.5}]},
            "queues[0]: priority: is not a whole number: 0.5",
        ),
        (
            {"queues": [queue("a", deserved="4")]},  # type: ignore[arg-type]
            "queues[0].resourceShare.gpu.deserved: is not a number up to 2^63: '4'",
        ),
        ({"totalResource": {"GPU": True}}, "totalResource.gpu: is not a number up to 2^63: True"),
        (
            {"totalResource": {"GPU": 1e300}},
            "totalResource.gpu: is not a number up to 2^63: 1e+300",
        ),
    ],
)
def test_invalid_requests(request_: Any, message: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        fair_shares(request_)
    assert str(error.value) == message


# ---- the formula, plainly ------------------------------------------------------------------------


def divided(total: float, queues: list[dict[str, Any]]) -> dict[str, float]:
    """Spec 1 F41-F50 with k = 0, one queue and one step after the other.

    Operations are in the order of F44, because their rounding decides between equal remainders.
    """

    def most(each: dict[str, Any]) -> float:
        limit = each["maxAllowed"]
        return each["request"] if limit == -1 else min(limit, each["request"])

    share = {
        each["uid"]: min(total if each["deserved"] == -1 else each["deserved"], most(each))
        for each in queues
    }
    left = total - math.fsum(share.values())
    remainders: dict[str, float] = {}
    priorities = sorted({each["priority"] for each in queues}, reverse=True)
    for priority in priorities:
        while left > 0:
            hungry = [
                each
                for each in queues
                if each["priority"] == priority
                and each["request"] > share[each["uid"]]
                and (each["maxAllowed"] == -1 or each["maxAllowed"] > share[each["uid"]])
            ]
            weights = sum(each["overQuotaWeight"] for each in hungry)
            if weights == 0:
                break
            parts = {each["uid"]: each["overQuotaWeight"] / weights for each in hungry}
            all_parts = reduce(
                add, parts.values()
            )  # sum() rounds only at the end since Python 3.12
            to_give, one_had_enough = left, False
            for each in hungry:
                uid = each["uid"]
                if each["overQuotaWeight"] == 0:
                    continue
                offered, wanted = to_give * parts[uid] / all_parts, most(each) - share[uid]
                granted = wanted if wanted <= offered else math.floor(offered)
                if wanted <= offered:
                    remainders.pop(uid, None)
                elif offered > granted:
                    remainders[uid] = offered - granted
                one_had_enough = one_had_enough or wanted < offered
                share[uid] += granted
                left -= granted
            if not one_had_enough:
                break
    for priority in priorities:
        waiting = [e for e in queues if e["priority"] == priority and e["uid"] in remainders]
        waiting.sort(key=lambda e: (-remainders[e["uid"]], e["creationTimestamp"], e["uid"]))
        for each in waiting:
            granted = max(0.0, min(1.0, left))
            share[each["uid"]] += granted
            left -= granted
    return share


def test_random_requests_are_divided_by_the_formula() -> None:
    seed = random.SystemRandom().getrandbits(32)
    print(f"seed {seed}")
    drawn = random.Random(seed)
    for _ in range(200):
        queues = []
        for number in range(drawn.randint(1, 6)):
            queues.append(
                {
                    "uid": f"queue-{number}",
                    "priority": drawn.choice((0, 0, 0, 1, -5)),
                    "creationTimestamp": f"2026-01-0{drawn.randint(1, 3)}T00:00:00Z",
                    "deserved": drawn.choice((-1, 0, 0, 1, 2, 5)),
                    "maxAllowed": drawn.choice((-1, -1, 0, 3, 7)),
                    "overQuotaWeight": drawn.choice((0, 1, 1, 2, 4)),
                    "request": drawn.choice((0, 0.5, 2, 3.25, 8, 100)),
                }
            )
        total = drawn.choice((0, 1, 4, 7.5, 16, 33))
        own = ("deserved", "maxAllowed", "overQuotaWeight", "request")
        request = [
            {
                **{name: value for name, value in each.items() if name not in own},
                "resourceShare": {"gpu": {name: each[name] for name in own}},
            }
            for each in queues
        ]
        drawn.shuffle(request)
        answer = fair_shares({"totalResource": {"GPU": total}, "queues": request})
        expected = divided(total, queues)
        assert {uid: share["gpu"] for uid, share in answer.items()} == pytest.approx(expected)
