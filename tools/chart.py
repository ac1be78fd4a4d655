"""Writes the generated files of the Helm chart: objects, rows of values, their schema and tables.

    tools/chart.py            writes them
    tools/chart.py --check    prints the files that are out of date; exit status 1 if there are any

The objects and definitions come from kai.install, with placeholders for what a release chooses: the
templates only fill in and change them. The rows, the schema and the tables in
docs/reference/chart.md come from charts/kai-sched/keys.yaml.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

import kai
from kai.install import access, admission, explaining, hooks, manifests, running

ROOT = Path(__file__).resolve().parent.parent
CHART = ROOT / "charts/kai-sched"
DEFINITIONS = ROOT / "python/kai/install/crds"
PAGE = ROOT / "docs/reference/chart.md"

# ---- objects -------------------------------------------------------------------------------------

NAMESPACE, IMAGE, RELEASE = "RELEASE-NAMESPACE", "RELEASE-IMAGE", "RELEASE-NAME"
RESERVING, HOLDER = "RESERVATION-NAMESPACE", "RESERVATION-ACCOUNT"
CONFIG = "CONFIGURATION"
DIGEST = "CONFIGURATION-DIGEST"
"""Placeholders. Names in Kubernetes have no capital letters, so they are no names."""
PLACEHOLDERS = (NAMESPACE, IMAGE, RELEASE, RESERVING, HOLDER, DIGEST)


def name_of(role: str) -> str:
    """The name of a role's Deployment and account in the chart."""
    return manifests.KAIS_NAMES.get(role) or manifests.account_of(role)


def objects() -> dict[str, list[dict[str, Any]]]:
    """The objects of each file in charts/kai-sched/generated."""
    made: dict[str, list[dict[str, Any]]] = {
        role: [
            *access.objects(role, name_of(role), NAMESPACE, reserving=RESERVING),
            *running.program(role, name_of(role), NAMESPACE, IMAGE, CONFIG),
        ]
        for role in (access.ALL, *access.ROLES)
    }
    made[running.NUMA_EXPORTER] = [
        *access.objects(running.NUMA_EXPORTER, name_of(running.NUMA_EXPORTER), NAMESPACE),
        running.numa_exporter(name_of(running.NUMA_EXPORTER), NAMESPACE, IMAGE),
    ]
    made[running.GPU_AUDITOR] = [
        *access.objects(running.GPU_AUDITOR, name_of(running.GPU_AUDITOR), NAMESPACE),
        running.gpu_auditor(name_of(running.GPU_AUDITOR), NAMESPACE, IMAGE),
    ]
    webhooks = name_of(admission.ADMISSION)
    made[admission.ADMISSION] = [
        *access.objects(admission.ADMISSION, webhooks, NAMESPACE),
        *admission.objects(webhooks, NAMESPACE, IMAGE),
    ]
    for topology, names in {"together": [access.ALL], "split": access.ROLES}.items():
        accounts = [*map(name_of, names), webhooks]
        made[f"flow-schemas-{topology}"] = running.flow_schemas(accounts, NAMESPACE)
    for topology, role in {"together": access.ALL, "split": "scheduler"}.items():
        made[f"explain-{topology}"] = explaining.objects(role, name_of(role), NAMESPACE)
    made["configuration"] = [running.config_map(NAMESPACE, CONFIG)]
    made["reservations"] = manifests.reservation_objects(HOLDER, RESERVING)
    made["priority-classes"] = manifests.priority_classes()
    made["queues"] = manifests.queues()
    made["hooks"] = hooks.objects(NAMESPACE, IMAGE, RELEASE)
    return made


# ---- values --------------------------------------------------------------------------------------

_TEXT, _MAP = {"type": "string"}, {"type": "object"}
_NUMBER = {"type": ["number", "string"]}
_MOST = 2**31 - 1  # of a number in Kubernetes that is no amount of a resource


def _matching(*parts: str, **more: Any) -> dict[str, Any]:
    """A text that matches the joined parts as a whole."""
    return {"type": "string", "pattern": f"^({''.join(parts)})$", **more}


def _closed(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _list_of(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _map_of(values: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": values}


_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_NAME = rf"{_LABEL}(\.{_LABEL})*"
_KEY = rf"({_NAME}/)?[A-Za-z0-9]([-\w.]*[A-Za-z0-9])?"
_HOST = r"[A-Za-z0-9]([-\w.]*[A-Za-z0-9])?(:[0-9]+)?"
_PATH = r"[a-z0-9]+((\.|__?|-+)[a-z0-9]+)*"  # of a repository, between two slashes
_DIGITS = r"([0-9]+(\.[0-9]*)?|\.[0-9]+)"
_RUNTIME = _matching(f"0|({_DIGITS}(ns|us|µs|ms|s|m|h|d|w))+")
_QUANTITY = {
    **_matching(rf"\+?{_DIGITS}([eE][-+]?[0-9]+|[numkMGTPE]|[KMGTPE]i)?"),
    "type": ["number", "string"],
    "minimum": 0,
}
_SHARE = _closed(quota=_NUMBER, limit=_NUMBER, overQuotaWeight=_NUMBER)
TYPES: Mapping[str, Mapping[str, Any]] = {
    "affinity": _closed(nodeAffinity=_MAP, podAffinity=_MAP, podAntiAffinity=_MAP),
    "arguments": {  # `propertyNames` would not print where the mistake is
        **_closed(),
        "patternProperties": {r"^[A-Za-z0-9][-\w.]*$": {"type": ["string", "number", "boolean"]}},
    },
    "bool": {"type": "boolean"},
    "count": {"type": "integer", "minimum": 0, "maximum": _MOST},
    "digest": _matching("(sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})?"),
    "duration": _matching(r"([0-9]+(\.[0-9]+)?(ns|us|ms|s|m|h))+"),
    "entries": _map_of(
        _closed(enabled={"type": "boolean"}, priority={"type": "integer"}, arguments=_MAP)
    ),
    "image": _closed(name=_TEXT, registry=_TEXT, tag=_TEXT, pullPolicy=_TEXT),
    "image name": _matching(f"{_PATH}(/{_PATH})*"),
    "label key": _matching(_KEY),
    "label key or empty": _matching(f"({_KEY})?"),
    "labels": _map_of(_TEXT),
    "map": _MAP,
    "name": _matching(_NAME, maxLength=253),
    "name or empty": _matching(f"({_NAME})?", maxLength=253),
    "memory": _QUANTITY,
    "namespace": _matching(_LABEL, maxLength=63),
    "number": {"type": "number"},
    "part": {  # of the replicas
        **_matching("([0-9]|[1-9][0-9]|100)%"),
        "type": ["integer", "string"],
        "minimum": 0,
        "maximum": _MOST,
    },
    "path": _matching("(/.*)?"),
    "quantity": {"type": ["integer", "string"]},
    "registry": _matching(f"({_HOST}(/{_PATH})*/?)?"),
    "resources": _closed(
        requests=_map_of(_QUANTITY), limits=_map_of(_QUANTITY), claims=_list_of(_MAP)
    ),
    "runtimes": _closed(preemptMinRuntime=_RUNTIME, reclaimMinRuntime=_RUNTIME),
    "secrets": _list_of({"anyOf": [_TEXT, _closed(name=_TEXT)]}),
    "shares": _closed(cpu=_SHARE, gpu=_SHARE, memory=_SHARE),
    "tag": _matching(r"(\w[-\w.]{0,127})?"),
    "text": _TEXT,
    "texts": _list_of(_TEXT),
    "tolerations": _list_of(
        _closed(
            key=_TEXT,
            operator={"enum": ["Equal", "Exists", "Lt", "Gt"]},
            value=_TEXT,
            effect={"enum": ["NoSchedule", "PreferNoSchedule", "NoExecute"]},
            tolerationSeconds={"type": "integer"},
        )
    ),
}
"""The types of values. Where Kubernetes checks a value only when an object or a pod is created, its
pattern finds the mistake before anything changes. Go reads the patterns: `\\w` is ASCII there."""
MEMBERS = (  # of a row, for the templates
    "key",
    "default",
    "kai",
    "does",
    "text",
    "refuses",
    "why",
    "needs",
    "flag",
    "roles",
)


def rows() -> list[dict[str, Any]]:
    """The rows of keys.yaml; those for several blocks once for each block. `of` is a list, or a map
    with KAI's default for each block."""
    table = yaml.safe_load((CHART / "keys.yaml").read_text(encoding="utf-8"))
    found = []
    for row in table:
        row = {"does": "honoured", **row}
        between = "" if row.pop("joined", False) else "."
        blocks = row.pop("of", None)
        for each in blocks or ():
            found.append({**row, "key": f"{each}{between}{row['key']}"})
            if isinstance(blocks, dict):
                found[-1]["kai"] = blocks[each]
        found += [row] if blocks is None else []
    return found


def for_templates() -> list[dict[str, Any]]:
    """The members of the rows that the templates read."""
    return [{name: row[name] for name in MEMBERS if name in row} for row in rows()]


def schema() -> dict[str, Any]:
    """values.schema.json. Unknown values are errors, except below `global`, which a parent chart
    shares with its other charts; there the templates find them."""
    made = _closed()
    for row in rows():
        *blocks, last = row["key"].split(".")
        at = made
        for block in blocks:
            at = at["properties"].setdefault(block, _closed())
        kind = row["type"]
        of_type = dict(TYPES[kind]) if isinstance(kind, str) else kind
        at["properties"][last] = {"description": row["text"], **of_type}
    made["properties"]["global"]["additionalProperties"] = True
    return {"$schema": "http://json-schema.org/draft-07/schema#", **made}


def tables() -> dict[str, str]:
    """The Markdown tables of docs/reference/chart.md, by their name."""
    every = rows()
    honoured = [row for row in every if row["does"] == "honoured"]
    return {
        "kai": _table([row for row in honoured if "kai" in row], "Default", "KAI's default"),
        "ours": _table([row for row in honoured if "kai" not in row], "Default"),
        "accepted": _table([row for row in every if row["does"] == "accepted"]),
        "refused": _table([row for row in every if "refuses" in row], "Refused"),
    }


def _table(chosen: Iterable[Mapping[str, Any]], *columns: str) -> str:
    cells = {
        "Default": lambda row: _shown(row.get("default")),
        "KAI's default": lambda row: (
            "the same" if row["kai"] == row.get("default") else _shown(row["kai"])
        ),
        "Refused": lambda row: ", ".join(f"`{json.dumps(each)}`" for each in row["refuses"]),
    }
    lines = [("Value", *columns, "Meaning"), ("---",) * (len(columns) + 2)]
    for row in chosen:
        meaning = row["why"] if "Refused" in columns else row["text"]
        if needs := row.get("needs"):
            meaning += f" Needs {', '.join(_setting(*each) for each in needs.items())}."
        lines.append((f"`{row['key']}`", *(cells[each](row) for each in columns), meaning))
    return "".join(f"| {' | '.join(each)} |\n" for each in lines)


def _setting(key: str, value: Any) -> str:
    return f"`{key}`" if not isinstance(value, (bool, str)) else f"`{key}={_plain(value)}`"


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _shown(value: Any) -> str:
    return "absent" if value is None else f"`{json.dumps(value)}`"


# ---- files ---------------------------------------------------------------------------------------


def files() -> Iterator[tuple[Path, str]]:
    """Each generated file and its text."""
    notice = "# Written by tools/chart.py from {}; do not edit.\n"
    digest = str(running.digest(CONFIG))
    for name, made in objects().items():
        text = _quoted(manifests.list_yaml(made).replace(digest, DIGEST))
        yield CHART / f"generated/{name}.yaml", notice.format("python/kai/install") + text
    for path in sorted(DEFINITIONS.glob("*.yaml")):  # Helm warns of links
        text = notice.format("python/kai/install/crds") + _read(path)
        yield CHART / "crds" / path.name, text
    yield (
        CHART / "generated/rows.yaml",
        notice.format("keys.yaml") + manifests.list_yaml(for_templates()),
    )
    yield CHART / "values.schema.json", json.dumps(schema(), indent=2) + "\n"
    yield CHART / "Chart.yaml", _with_version((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    yield PAGE, _with_tables(PAGE.read_text(encoding="utf-8"))


def _quoted(text: str) -> str:
    """YAML with quotes around each value that is a placeholder: 0123 and null are names too."""
    return re.sub(rf"(?<=[:-] )({'|'.join(PLACEHOLDERS)})$", r'"\1"', text, flags=re.MULTILINE)


def _with_version(text: str) -> str:
    version = rf"\g<1>{kai.__version__}"
    text = re.sub(r"^(version: ).*$", version, text, flags=re.MULTILINE)
    return re.sub(r"^(appVersion: ).*$", rf"{version}", text, flags=re.MULTILINE)


def _with_tables(text: str) -> str:
    for name, table in tables().items():
        mark = re.compile(rf"(<!-- table: {name} -->\n)(.*?)(<!-- end -->)", re.DOTALL)
        text, count = mark.subn(lambda found: found[1] + table + found[3], text)  # noqa: B023
        if count != 1:
            raise SystemExit(f"{PAGE}: there is no table {name}")
    return text


def main(arguments: list[str]) -> int:
    check = arguments == ["--check"]
    if arguments and not check:
        print(__doc__)
        return 2
    wanted = dict(files())
    stale = [path for path, text in wanted.items() if not path.exists() or _read(path) != text]
    there = {path for folder in ("generated", "crds") for path in (CHART / folder).glob("*")}
    unknown = sorted(there - wanted.keys())
    for path in [*stale, *unknown]:
        if check:
            print(f"{path.relative_to(ROOT)} is out of date: run tools/chart.py")
        elif path in wanted:
            path.parent.mkdir(exist_ok=True)
            path.write_text(wanted[path], encoding="utf-8")
        else:
            path.unlink()
    return int(check and bool(stale or unknown))


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
