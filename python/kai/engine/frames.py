"""The decisions of a plan as a data frame or an Arrow table.

Both use the columns of the compiled plan without conversion: numbers as NumPy arrays, names as
codes of a category. So no Python object is created for a decision.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from kai.api import extras
from kai.engine import text

if TYPE_CHECKING:
    import pandas
    import pyarrow

    from kai import _core

_EVICT = 2  # the code of the kind
_TEXTS = ("gpu_groups", "action", "for_group", "message")


def to_pandas(compiled: _core.Plan) -> pandas.DataFrame:
    pd, np = needed("to_pandas()", "pandas"), import_module("numpy")
    columns = _Columns(compiled.decision_columns(), np)
    category = partial(_category, columns, pd)

    def count(name: str, dtype: str) -> Any:
        values = columns.numbers(name, dtype)
        return pd.arrays.IntegerArray(values.astype("int64"), values == 0)

    table: pandas.DataFrame = pd.DataFrame(
        {
            "kind": category("kind"),
            "pod": _names(*columns.texts("pod"), pd),
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


class Frames(NamedTuple):
    """A plan as four data frames.

    `decisions`: one row each, in order (`kai.Plan.to_pandas`). `groups`: one row per pod group, by
    name: its queue, verdict, priority and age; how many of its `pods` were `running` and `pending`
    when the cycle began, how many the cycle `bound`, `pipelined` and `evicted`, and how many are
    `waiting` after it; the first `reason` with its `message`. `queues`: by queue and resource
    (`kai.Queues.to_pandas`). `nodes`: one row per node, by name, with its free resources after the
    decisions (`kai.NodePlan`); `free_parts` is their sum. GPUs are in devices, CPUs in cores,
    memory in bytes.

    >>> import kai
    >>> cluster = kai.Cluster().queue("a").nodes("n", 2, gpus=8).pending("a/x", pods=3, gpus=1)
    >>> frames = kai.Scheduler().plan(cluster).to_frames()
    >>> frames
    <kai.Frames: decisions 3 rows, groups 1 row, queues 3 rows, nodes 2 rows>
    >>> frames.nodes.set_index("node")["free_gpus"].to_dict()
    {'n1': 5.0, 'n2': 8.0}
    """

    decisions: pandas.DataFrame
    groups: pandas.DataFrame
    queues: pandas.DataFrame
    nodes: pandas.DataFrame

    def __repr__(self) -> str:
        rows = (f"{name} {text.count(len(frame), 'row')}" for name, frame in self._asdict().items())
        return f"<kai.Frames: {', '.join(rows)}>"


def groups(compiled: _core.Plan) -> pandas.DataFrame:
    pd, np = needed("to_frames()", "pandas"), import_module("numpy")
    columns = _Columns(compiled.group_columns(), np)
    category = partial(_category, columns, pd)
    created = columns.numbers("created_ns", "int64")  # the smallest integer is NaT
    counts = ("pods", "running", "pending", "bound", "pipelined", "evicted", "waiting")
    table: pandas.DataFrame = pd.DataFrame(
        {
            "pod_group": _names(*columns.texts("pod_group"), pd),
            "queue": category("queue"),
            "verdict": category("verdict"),
            "priority": columns.numbers("priority", "int32"),
            "created": pd.DatetimeIndex(created.view("datetime64[ns]"), tz="UTC"),
            **{name: columns.numbers(name, "int32") for name in counts},
            "reason": category("reason"),
            "message": category("message"),
        },
        copy=False,
    )
    return table


def nodes(compiled: _core.Plan) -> pandas.DataFrame:
    pd = needed("to_frames()", "pandas")
    names = [
        *("node", "gpus", "free_gpus", "leaving_gpus", "free_parts"),
        *("cpus", "free_cpus", "memory", "free_memory", "state"),
    ]
    rows = [(*row[:4], sum(row[4]), *row[5:]) for row in compiled.nodes()]
    table: pandas.DataFrame = pd.DataFrame(rows, columns=names)
    return table


def to_arrow(compiled: _core.Plan) -> pyarrow.Table:
    pa = needed("to_arrow()", "pyarrow")
    np = needed("to_arrow()", "numpy")
    columns = _Columns(compiled.decision_columns(), np)

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
            "pod": _arrow_names(*columns.texts("pod"), pa),
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

    def __init__(self, columns: dict[str, Any], np: Any) -> None:
        self._columns = columns
        self._np = np

    def numbers(self, name: str, dtype: str) -> Any:
        return self._np.frombuffer(self._columns[name], dtype)

    def numbers_or_nan(self, name: str) -> Any:
        """A column in which 0 means no value."""
        values = self.numbers(name, "float64")
        return self._np.where(values == 0, self._np.nan, values)

    def gpus(self) -> Any:
        kinds, _ = self.coded("kind")
        return self._np.where(kinds == _EVICT, self._np.nan, self.numbers("gpus", "float64"))

    def coded(self, name: str) -> tuple[Any, list[str]]:
        codes, texts = self._columns[name]
        return self._np.frombuffer(codes, "int32"), texts

    def texts(self, name: str) -> tuple[Any, bytes]:
        """The offsets of all texts, and the texts in one block."""
        offsets, whole = self._columns[name]
        return self._np.frombuffer(offsets, "int64"), whole


def _category(columns: _Columns, pd: Any, name: str) -> Any:
    codes, texts = columns.coded(name)
    return pd.Categorical.from_codes(codes, categories=pd.Index(texts, dtype=object))


def _arrow_names(offsets: Any, names: bytes, pa: Any) -> Any:
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(names)]
    return pa.Array.from_buffers(pa.large_string(), len(offsets) - 1, buffers)


def _names(offsets: Any, names: bytes, pd: Any) -> Any:
    """A column of distinct names: with pyarrow one block of text, otherwise a Python string
    each."""
    try:
        pa = import_module("pyarrow")
    except ModuleNotFoundError:
        bounds = offsets.tolist()
        return [names[a:b].decode() for a, b in pairwise(bounds)]
    return pd.arrays.ArrowExtensionArray(_arrow_names(offsets, names, pa))


def needed(call: str, module: str) -> Any:
    try:
        return import_module(module)
    except ModuleNotFoundError:
        raise ModuleNotFoundError(extras.needed(call, module)) from None
