"""Objects of Python clients and plain values (spec 7 J6), with classes as clients make them."""

import sys
from datetime import date, datetime, timedelta, timezone
from types import ModuleType
from typing import Any, ClassVar

import pytest

from kai.errors import InvalidRequestError
from kai.settings.native import to_native, to_plain


class V1Part:
    attribute_map: ClassVar = {"some_name": "someName", "by_key": "byKey"}
    openapi_types: ClassVar = {"some_name": "str", "by_key": "dict(str, V1Part)"}

    def __init__(self, some_name: Any = None, by_key: Any = None) -> None:
        if some_name == "refused":
            raise ValueError("not that")
        self.some_name = some_name
        self.by_key = by_key


class V1Whole:
    attribute_map: ClassVar = {"parts": "theParts", "at": "at", "labels": "labels"}
    # As kubernetes 25 writes them, and as 37 does.
    openapi_types: ClassVar = {
        "parts": "list[V1Part]",
        "at": "datetime",
        "labels": "Dict[str, str]",
    }

    def __init__(self, parts: Any = None, at: Any = None, labels: Any = None) -> None:
        self.parts = parts
        self.at = at
        self.labels = labels


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> None:
    package, module = ModuleType("kubernetes"), ModuleType("kubernetes.client")
    module.V1Part, module.V1Whole = V1Part, V1Whole  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "kubernetes", package)
    monkeypatch.setitem(sys.modules, "kubernetes.client", module)


@pytest.mark.usefixtures("client")
def test_nested_values_become_objects_and_are_converted_back() -> None:
    values = {
        "theParts": [{"someName": "a", "byKey": {"b": {"someName": "c"}}}],
        "at": "2026-01-02T03:04:05Z",
        "labels": {"some_name": "a key of its own"},
    }
    whole = to_native("V1Whole", values)
    assert whole.parts[0].by_key["b"].some_name == "c"
    assert whole.labels == {"some_name": "a key of its own"}
    assert to_plain(whole) == values


@pytest.mark.usefixtures("client")
def test_an_unknown_key_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match=r"V1Part of this client has no 'some_name'"):
        to_native("V1Whole", {"theParts": [{"some_name": "a"}]})


@pytest.mark.usefixtures("client")
def test_an_error_of_a_class_is_reported() -> None:
    with pytest.raises(InvalidRequestError, match="V1Part cannot be created from these values"):
        to_native("V1Part", {"someName": "refused"})


def test_times_are_in_utc_and_unset_fields_are_left_out() -> None:
    later = timezone(timedelta(hours=2))
    whole = V1Whole(at=datetime(2026, 1, 2, 5, 4, 5, tzinfo=later))
    assert to_plain(whole) == {"at": "2026-01-02T03:04:05Z"}
    assert to_plain({"at": datetime(2026, 1, 2), "on": date(2026, 1, 2), "no": None}) == {
        "at": "2026-01-02T00:00:00Z",
        "on": "2026-01-02",
    }


def test_models_of_other_libraries_have_their_json_names() -> None:
    class Model:
        def model_dump(self, *, by_alias: bool, exclude_none: bool) -> dict[str, Any]:
            return {"someName": "a"} if by_alias and exclude_none else {}

    assert to_plain([Model()]) == [{"someName": "a"}]
