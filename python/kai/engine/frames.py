"""The decisions of a plan as a data frame or an Arrow table.

Both take the columns of the compiled plan as they are: numbers as NumPy arrays, names as codes of a
category, so that 40,000 decisions make no 40,000 Python objects.
"""

from __future__ import annotations

from importlib import import_module
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas
    import pyarrow

    from kai import _core

_EVICT = 2  # the code of the kind
_TEXTS = ("gpu_groups", "action", "for_group", "message")


def to_pandas(compiled: _core.Plan) -> pandas.DataFrame:
    pd, np = _needed("to_pandas()", "pandas", "notebook"), import_module("numpy")
    columns = _Columns(compiled, np)

    def category(name: str) -> Any:
        codes, texts = columns.coded(name)
        return pd.Categorical.from_codes(codes, categories=pd.Index(texts, dtype=object))

    def count(name: str, dtype: str) -> Any:
        values = columns.numbers(name, dtype)
        return pd.arrays.IntegerArray(values.astype("int64"), values == 0)

    table: pandas.DataFrame = pd.DataFrame(
        {
            "kind": category("kind"),
            "pod": _pods(columns, pd),
            "node": category("node"),
            "gpus": columns.gpus(),
            "devices": count("devices", "int32"),
            "portion": columns.numbers_or_nan("portion"),
            "gpu_memory_mib": count("gpu_memory_mib", "int64"),
            **{name: category(name) for name in _TEXTS},
        },
        copy=False,
    )
    return table


def to_arrow(compiled: _core.Plan) -> pyarrow.Table:
    pa = _needed("to_arrow()", "pyarrow", "arrow")
    np = _needed("to_arrow()", "numpy", "arrow")
    columns = _Columns(compiled, np)

    def category(name: str) -> Any:
        codes, texts = columns.coded(name)
        indices = pa.array(codes, mask=codes < 0)
        return pa.DictionaryArray.from_arrays(indices, pa.array(texts, type=pa.string()))

    def count(name: str, dtype: str) -> Any:
        values = columns.numbers(name, dtype)
        return pa.array(values, mask=values == 0)

    gpus, portion = columns.gpus(), columns.numbers_or_nan("portion")
    return pa.table(
        {
            "kind": category("kind"),
            "pod": _arrow_pods(columns, pa),
            "node": category("node"),
            "gpus": pa.array(gpus, mask=np.isnan(gpus)),
            "devices": count("devices", "int32"),
            "portion": pa.array(portion, mask=np.isnan(portion)),
            "gpu_memory_mib": count("gpu_memory_mib", "int64"),
            **{name: category(name) for name in _TEXTS},
        }
    )


class _Columns:
    """The columns of a compiled plan as NumPy arrays."""

    def __init__(self, compiled: _core.Plan, np: Any) -> None:
        self._columns = compiled.decision_columns()
        self._np = np
        self.size = compiled.decision_count

    def numbers(self, name: str, dtype: str) -> Any:
        return self._np.frombuffer(self._columns[name], dtype)

    def numbers_or_nan(self, name: str) -> Any:
        """Of a column in which 0 says that there is none."""
        values = self.numbers(name, "float64")
        return self._np.where(values == 0, self._np.nan, values)

    def gpus(self) -> Any:
        kinds, _ = self.coded("kind")
        return self._np.where(kinds == _EVICT, self._np.nan, self.numbers("gpus", "float64"))

    def coded(self, name: str) -> tuple[Any, list[str]]:
        codes, texts = self._columns[name]
        return self._np.frombuffer(codes, "int32"), texts

    def pods(self) -> tuple[Any, bytes]:
        """Where each name begins and ends, and all of them."""
        offsets, names = self._columns["pod"]
        return self._np.frombuffer(offsets, "int64"), names


def _arrow_pods(columns: _Columns, pa: Any) -> Any:
    offsets, names = columns.pods()
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(names)]
    return pa.Array.from_buffers(pa.large_string(), columns.size, buffers)


def _pods(columns: _Columns, pd: Any) -> Any:
    """Names that differ: with pyarrow as one block of text, else a Python string each."""
    try:
        pa = import_module("pyarrow")
    except ModuleNotFoundError:
        offsets, names = columns.pods()
        bounds = offsets.tolist()
        return [names[a:b].decode() for a, b in pairwise(bounds)]
    return pd.arrays.ArrowExtensionArray(_arrow_pods(columns, pa))


def _needed(call: str, module: str, extra: str) -> Any:
    try:
        return import_module(module)
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            f"{call} needs {module}: pip install 'kai-sched[{extra}]'"
        ) from None
