"""Names and label values that do not fit are cut, and stay different from each other."""

import random
import re
import string

import pytest

from kai.api.names import LONGEST_LABEL, LONGEST_NAME, dns_label, fitting, object_name

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


def test_a_name_that_fits_is_unchanged() -> None:
    longest = "n" * LONGEST_LABEL
    assert fitting(longest, LONGEST_LABEL) == dns_label(longest) == longest
    longest = "n" * LONGEST_NAME
    assert fitting(longest) == object_name(longest) == longest


def test_a_name_that_is_one_too_long_is_as_long_as_allowed() -> None:
    assert len(fitting("n" * (LONGEST_LABEL + 1), LONGEST_LABEL)) == LONGEST_LABEL
    assert len(fitting("n" * (LONGEST_NAME + 1))) == LONGEST_NAME


def test_names_with_the_same_start_stay_different() -> None:
    names = [f"{'n' * 80}{end}" for end in range(100)]
    assert len({fitting(each, LONGEST_LABEL) for each in names}) == 100


def test_names_that_differ_in_case_only_stay_different() -> None:
    assert len({dns_label(each) for each in ("gpu", "GPU", "Gpu", "g_pu", "g.pu")}) == 5


@pytest.mark.parametrize("seed", range(20))
def test_every_name_becomes_one_that_the_api_server_accepts(seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(200):
        length = dice.choice((1, 2, 3, 52, 53, 54, 62, 63, 64, 100, 243, 252, 253, 254, 400))
        odd = "".join(dice.choice(string.ascii_letters + "-._/ ä") for _ in range(length))
        assert _LABEL.fullmatch(dns_label(odd)), odd
        assert len(dns_label(odd)) <= LONGEST_LABEL
        assert _NAME.fullmatch(object_name(odd)), odd
        assert len(object_name(odd)) <= LONGEST_NAME
        node = "a" + "".join(dice.choice("ab-.") for _ in range(length)) + "z"
        assert _VALUE.fullmatch(fitting(node, LONGEST_LABEL)), node
