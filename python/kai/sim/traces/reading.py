"""Chooses the reader of a file; the readers are listed by the names of their formats."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from kai.api import files
from kai.api.arguments import in_a_sentence
from kai.api.documents import decode
from kai.api.nearest import check_known
from kai.errors import InvalidInputError
from kai.sim.traces import alibaba, by_hand, papers, unknown
from kai.sim.traces import columns as mapped
from kai.sim.traces import sacct as slurm
from kai.sim.traces import swf as archive
from kai.sim.traces.page import Page
from kai.sim.traces.table import Table
from kai.sim.traces.trace import Choice, Trace, workload_of
from kai.sim.workload import NodePool, Queue, Workload

__all__ = ["FORMATS", "read", "read_all", "read_arrivals", "read_cluster", "write_yaml"]

FORMATS = (
    "philly",
    "itp",
    "openb",
    "muri",
    "tiresias",
    "helios",
    "acme",
    "swf",
    "sacct",
    "csv",
    "yaml",
)
"""The formats that `read` knows; csv is any table, with `columns`."""

PathLike = str | os.PathLike[str]

_OF_HELIOS = ("user", "gpu_num", "cpu_num", "node_num", "submit_time", "duration")
# Columns of the first line that identify a format, the most specific ones first.
_HEADERS: Sequence[tuple[str, frozenset[str]]] = (
    ("openb", frozenset(("name", "num_gpu", "gpu_milli"))),
    ("philly", frozenset(("timestamp", "num_gpus", "cluster"))),
    ("itp", frozenset(("job_id", "submission_time", "num_gpu"))),
    ("muri", frozenset(("job_id", "num_gpu", "submit_time", "iteration_time"))),
    ("tiresias", frozenset(("job_id", "num_gpu", "submit_time", "model_name"))),
    ("helios", frozenset(("job_id", "vc", *_OF_HELIOS))),
    ("acme", frozenset(("job_id", "type", *_OF_HELIOS))),
)
_OPENB_NODES = frozenset(("sn", "cpu_milli", "memory_mib", "gpu"))
_OPENB_LIST = "openb_node_list_all_node.csv"


@in_a_sentence
def read(
    path: PathLike,
    *,
    format: str | None = None,
    nodes: Sequence[NodePool] | PathLike | None = None,
    queues: Sequence[Queue] | None = None,
    queues_by: str | None = None,
    processors: str = "gpus",
    columns: Mapping[str, str] | None = None,
) -> Workload:
    """The workload of a file, or of a folder of ITP or openb files.

    Args:
        path: the file; it may be compressed with gzip
        format: one of `FORMATS`; default: detected from the content
        nodes: replace those of the trace: pools, or a YAML file or an openb list with nodes
        queues: replace those of the trace; the jobs must name them, or there is only one
        queues_by: the column for the queues of a Slurm or SWF trace: account, user, partition,
            for SWF also queue, or one for a single queue
        processors: the meaning of a processor in an SWF trace: gpus or cores
        columns: the columns of a table in another format, such as {"arrival": "submit_time",
            "duration": "run_s", "gpus": "milli/1000"}; also start, end, pods, cpu, name, queue
            and user

    Invalid rows are left out, and counted in `Workload.problems`. Raises InvalidInputError if the
    file cannot be read or has nothing usable, and for arguments that do not fit the format.
    """
    pools = read_cluster(nodes)[0] if isinstance(nodes, (str, os.PathLike)) else nodes
    if isinstance(nodes, (str, os.PathLike)) and not pools:
        raise InvalidInputError(f"{os.path.basename(nodes)}: has no nodes")
    choice = Choice(
        None if pools is None else tuple(pools), None if queues is None else tuple(queues)
    )
    if columns is not None:
        mapped.checked(columns)
    return _read(path, format, choice, queues_by, processors, columns)


@in_a_sentence
def read_arrivals(path: PathLike, cluster: Workload, *, format: str | None = None) -> Workload:
    """The jobs of a file that arrive in an existing cluster, for `first_moment.with_arrivals`.

    ``cluster``: a workload that begins with the cluster (`first_moment.workload_of`). Its nodes
    replace those of the file, and a YAML file without queues uses its queues. Raises
    InvalidInputError as `read` does.
    """
    return _read(path, format, Choice(cluster.nodes, other_queues=cluster.queues))


def _read(
    path: PathLike,
    format: str | None,
    choice: Choice,
    queues_by: str | None = None,
    processors: str = "gpus",
    columns: Mapping[str, str] | None = None,
) -> Workload:
    content, name = _content(path), os.path.basename(os.fspath(path).rstrip("/")) or str(path)
    if format is not None:
        check_known([format], FORMATS, "there is no format", lists_all=True)
    if columns is not None and format not in (None, "csv"):
        raise InvalidInputError(f"columns are for format csv, and the format is {format}")
    if isinstance(content, dict):
        kind = format or _kind_of_folder(name, content)
    else:
        kind = format or ("csv" if columns is not None else _kind(name, content))
    _check(kind, queues_by, processors)
    if isinstance(content, dict):
        return _of_folder(name, content, kind, choice, Path(path))
    if kind in ("csv", *mapped.KNOWN):
        return workload_of(_mapped(kind, name, content, columns), choice)
    if kind == "yaml":
        page = _page(name, content, is_detected=format is None)
        return by_hand.of_page(
            page,
            nodes=choice.nodes,
            queues=choice.queues,
            other_queues=choice.other_queues,
        )
    beside = Path(path).parent
    trace = _trace(kind, name, content, choice, beside, queues_by, processors)
    return workload_of(trace, choice)


def _page(name: str, content: str, *, is_detected: bool) -> Page:
    """`is_detected`: the text may be no workload."""
    try:
        page = Page(name, content)
    except InvalidInputError:
        if is_detected and unknown.is_of_kubernetes(content):
            raise _in_no_format(name, content) from None
        raise
    if is_detected and unknown.is_no_workload(page.root):
        raise _in_no_format(name, content)
    return page


@in_a_sentence
def read_all(folder: PathLike, *, queues: Sequence[Queue] | None = None) -> tuple[Workload, ...]:
    """The ITP clusters of a folder, each as its own workload, sorted by name.

    Raises InvalidInputError as `read` does.
    """
    content, name = _content(folder), os.path.basename(os.fspath(folder).rstrip("/"))
    if not isinstance(content, dict):
        raise InvalidInputError(f"{name}: is a file, not a folder")
    choice = Choice(queues=None if queues is None else tuple(queues))
    return tuple(
        workload_of(papers.itp(Table.of_csv(file, text), Path(file).stem), choice)
        for file, text in content.items()
    )


@in_a_sentence
def read_cluster(
    path: PathLike,
) -> tuple[tuple[NodePool, ...] | None, tuple[Queue, ...] | None]:
    """The nodes and queues of a YAML file, or the nodes of an openb list; None: it has none.

    Raises InvalidInputError if it cannot be read.
    """
    content, name = _content(path), os.path.basename(path)
    if isinstance(content, dict):
        raise InvalidInputError(f"{name}: is a folder")
    if _header(content) >= _OPENB_NODES:
        return alibaba.openb_nodes(Table.of_csv(name, content)), None
    if unknown.is_of_kubernetes(content):
        raise InvalidInputError(f"{name}: {unknown.NODES_OF_KUBERNETES}")
    return by_hand.cluster_of_yaml(name, content)


@in_a_sentence
def write_yaml(workload: Workload, path: PathLike | None = None) -> str:
    """The workload as YAML, which `read` reads to an equal workload; also written to `path`, if
    given.

    `Workload.problems` is omitted. Raises OSError if the file cannot be written.
    """
    text = by_hand.yaml_of(workload)
    if path is not None:
        files.write(path, text.encode())
    return text


def _content(path: PathLike) -> str | dict[str, str]:
    """The text of a file, or of each .csv file of a folder."""
    name = os.path.basename(os.fspath(path).rstrip("/")) or str(path)
    if os.path.isdir(path):
        found = sorted(each for each in os.listdir(path) if each.endswith(".csv"))
        if not found:
            raise InvalidInputError(f"{name}: is a folder without .csv files")
        return {each: _text(Path(path) / each, each) for each in found}
    return _text(path, name)


def _text(path: PathLike, name: str) -> str:
    try:
        data = files.read(path)
        if data.startswith(b"\x1f\x8b"):
            message = files.too_large("unpacks to more", files.LARGEST)
            with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
                data = files.all_of(stream, files.LARGEST, str(message))
        return decode(data)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise InvalidInputError(f"{name}: is not a complete gzip file") from None
    except InvalidInputError as error:
        raise InvalidInputError(f"{name}: {error}") from None


def _header(text: str) -> frozenset[str]:
    line = text.lstrip("\n\r").split("\n", 1)[0]
    return frozenset(each.strip() for each in line.split(","))


def _kind(name: str, text: str) -> str:
    if not text.strip():
        raise InvalidInputError(f"{name}: is empty")
    first = next((line for line in text.splitlines() if line.strip()[:1] not in ("", "#")), "")
    columns = _header(text)
    for kind, needed in _HEADERS:
        if needed <= columns:
            return kind
    if slurm.is_sacct(first):
        return "sacct"
    if archive.is_swf(text):
        return "swf"
    if columns >= _OPENB_NODES:
        raise InvalidInputError(f"{name}: is a list of nodes; name a list of pods")
    if not unknown.may_be_yaml(text):
        raise _in_no_format(name, text)
    return "yaml"


def _in_no_format(name: str, text: str) -> InvalidInputError:
    return InvalidInputError(f"{name}: {unknown.sentence(text, FORMATS)}")


def _mapped(kind: str, name: str, text: str, columns: Mapping[str, str] | None) -> Trace:
    first = next((line for line in text.splitlines() if line.strip()), "")
    table = Table.of_csv(name, text, separator=mapped.separator_of(first))
    if kind != "csv":
        known = {
            ours: theirs for ours, theirs in mapped.KNOWN[kind].items() if theirs in table.columns
        }
        return mapped.of_columns(table, known, kind)
    if columns is None:
        raise InvalidInputError(f"{name}: format csv needs columns, such as arrival=submit_time")
    return mapped.of_columns(table, columns)


def _kind_of_folder(name: str, content: dict[str, str]) -> str:
    kinds = set()
    for file, text in content.items():
        if not _header(text) >= _OPENB_NODES:
            kinds.add(_kind(file, text))
    if len(kinds) != 1 or not kinds <= {"itp", "openb"}:
        raise InvalidInputError(f"{name}: a folder has ITP clusters or openb lists; name a file")
    return kinds.pop()


def _check(kind: str, queues_by: str | None, processors: str) -> None:
    if processors not in ("gpus", "cores"):
        raise InvalidInputError(f"processors is {processors!r} instead of gpus or cores")
    if processors != "gpus" and kind != "swf":
        raise InvalidInputError(f"processors is for format swf, and this is {kind}")
    if queues_by is None:
        return
    if kind not in ("swf", "sacct"):
        raise InvalidInputError(f"queues_by is for formats swf and sacct, and this is {kind}")
    known = ["one", *(archive.QUEUES_BY if kind == "swf" else slurm.QUEUES_BY)]
    if queues_by not in known:
        raise InvalidInputError(f"queues_by is {queues_by!r} instead of one of {', '.join(known)}")


def _of_folder(
    name: str, content: dict[str, str], kind: str, choice: Choice, path: Path
) -> Workload:
    if kind == "itp":
        tables = [(Path(file).stem, Table.of_csv(file, text)) for file, text in content.items()]
        return workload_of(papers.itp_clusters(tables), choice)
    file = "openb_pod_list_default.csv"
    if kind != "openb" or file not in content:
        raise InvalidInputError(f"{name}: is a folder without {file}; name a file")
    return workload_of(_openb(file, content[file], choice, path), choice)


def _trace(
    kind: str,
    name: str,
    text: str,
    choice: Choice,
    beside: Path,
    queues_by: str | None,
    processors: str,
) -> Trace:
    if kind == "swf":
        by = "" if queues_by in (None, "one") else str(queues_by)
        return archive.swf(name, text, processors=processors, queues_by=by)
    if kind == "sacct":
        models = sorted({pool.model for pool in choice.nodes or () if pool.model})
        return slurm.sacct(name, text, queues_by=queues_by or "account", models=models)
    if kind == "openb":
        return _openb(name, text, choice, beside)
    table = Table.of_csv(name, text)
    if kind == "itp":
        return papers.itp(table, Path(name).stem)
    made = {"philly": papers.philly, "muri": papers.muri, "tiresias": papers.tiresias}
    return made[kind](table)


def _openb(name: str, text: str, choice: Choice, beside: Path) -> Trace:
    """Uses the node list next to the pod list, unless nodes are given."""
    nodes = choice.nodes
    if nodes is None:
        if not (beside / _OPENB_LIST).is_file():
            raise InvalidInputError(
                f"{name}: {_OPENB_LIST} is not in the same directory; give nodes"
            )
        nodes, _ = read_cluster(beside / _OPENB_LIST)
    return alibaba.openb(Table.of_csv(name, text), nodes or (), _OPENB_LIST)
