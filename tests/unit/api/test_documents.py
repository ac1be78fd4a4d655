"""Reading YAML and JSON from untrusted input."""

import json
import time
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kai.api import documents
from kai.api.documents import read_documents
from kai.errors import InvalidInputError


def values(text: str) -> list[Any]:
    return [document.value for document in read_documents(text)]


def test_documents_are_read_in_order_with_their_lines() -> None:
    found = list(read_documents("a: 1\n---\n# nothing\n---\nb: 2\n"))
    assert [(each.value, each.line) for each in found] == [({"a": 1}, 1), (None, 2), ({"b": 2}, 4)]


def test_several_json_values_in_one_text_are_read() -> None:
    found = list(read_documents('{"a": 1}\n{"b": [2]}\n'))
    assert [(each.value, each.line) for each in found] == [({"a": 1}, 1), ({"b": [2]}, 2)]


def test_yaml_may_start_with_a_brace() -> None:
    assert values("{a: 1}\n---\n[b]") == [{"a": 1}, ["b"]]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),  # kubectl has no type for times
        ("12:30:00", "12:30:00"),
        ("1e3", 1000.0),
        ("0x10", 16),
        ("0o17", 15),
        ("017", 15),
        ("1_000", 1000),
        ("-8", -8),
        ("yes", True),
        ("Off", False),
        ("~", None),
        ("", None),
        ("10Gi", "10Gi"),
        (".nan", ".nan"),
        ("9" * 100, "9" * 100),
        ("'8'", "8"),
        ('"true"', "true"),
        ("!!str 8", "8"),
        ("!!int '8'", 8),
    ],
)
def test_scalars_are_read_as_kubectl_reads_them(text: str, value: object) -> None:
    assert values(f"key: {text}") == [{"key": value}]


def test_anchors_and_merge_keys_are_resolved() -> None:
    text = "base: &base {x: 1, y: 2}\nnew: {<<: *base, y: 3}\nboth: {<<: [*base, {z: 4}]}\n"
    assert values(text)[0]["new"] == {"x": 1, "y": 3}
    assert values(text)[0]["both"] == {"x": 1, "y": 2, "z": 4}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: 1\na: 2", "the key 'a' is given twice"),
        ("a: {{ name }}", "{{ name }} is not in quotes, so YAML reads a mapping"),
        ("? [a]\n: 1", "a mapping has a key that is not a string"),
        ("a: !secret b", "Kubernetes does not support the tag !secret"),
        ("<<: 1", "<< merges a value that is not a mapping"),
    ],
)
def test_an_invalid_document_has_its_problem_as_text(text: str, problem: str) -> None:
    [document] = read_documents(text)
    assert document.problem == problem


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": [1, 2', "ends in the middle of a value, on line 1"),
        ('{"a": "b', "ends in the middle of a value"),
        ('{"a": 1,, }', "not valid JSON"),
        ('{"a": NaN}', "NaN is not a JSON number"),
        ("a: [1,", "not valid YAML"),
        ("a: b: c", "not valid YAML: mapping values are not allowed"),
        ("a: &x [*x]", "alias \\*x on line 1 is not defined before this"),
        ("a: \x00", "not valid YAML"),
    ],
)
def test_an_unreadable_text_raises_one_sentence(text: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message) as caught:
        values(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["[" * 100_000, "- " * 5000, "{a: " * 5000, "a: " + "[" * 5000])
def test_deep_nesting_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError, match=r"nested|not valid"):
        values(text)


def test_aliases_that_expand_to_billions_of_values_are_refused_at_once() -> None:
    lines = ["- &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"- &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    start = time.monotonic()
    with pytest.raises(InvalidInputError, match="expand to, more than"):
        values("\n".join(lines))
    assert time.monotonic() - start < 5


def test_aliases_that_repeat_a_long_text_are_refused() -> None:
    text = f"- &a {'x' * 1_000_000}\n" + "- *a\n" * 2000
    with pytest.raises(InvalidInputError, match="expand to, more than"):
        values(text)


def test_the_byte_order_mark_sets_the_encoding() -> None:
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        assert documents.decode("a: ü".encode(encoding)) == "a: ü"
    with pytest.raises(InvalidInputError, match="not text"):
        documents.decode(b"\xff\xff\x00")


plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(st.dictionaries(st.text(max_size=8), plain, max_size=5))
def test_written_yaml_and_json_are_read_back(value: dict[str, Any]) -> None:
    assert values(json.dumps(value)) == [value]
    written = yaml.safe_dump(value, default_style='"', allow_unicode=False)
    assert values(written) == [json.loads(json.dumps(value))]
