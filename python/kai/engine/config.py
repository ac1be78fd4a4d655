"""The scheduler's configuration: the actions and plugins of a cycle, and their settings.

>>> import kai
>>> config = kai.Config(actions=["allocate"], plugins={"nodeplacement": {"gpu": "spread"}})
>>> cluster = kai.Cluster().queue("a").nodes("n", 2, gpus=4).pending("a/x", pods=2, gpus=1)
>>> [decision.node for decision in kai.Scheduler(config).plan(cluster).decisions]
['n1', 'n2']
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypedDict

from kai.api import documents, files
from kai.api.arguments import all_in_sentences, in_a_sentence
from kai.api.naming import naming
from kai.api.rules import shown
from kai.api.spelling import camel_name
from kai.engine import parameters, shards
from kai.errors import InvalidConfigError, InvalidInputError

# Names for type checkers; a test compares them with those of the compiled core.
Action = Literal["allocate", "consolidation", "reclaim", "preempt", "stalegangeviction"]
Extra = Literal[
    "topology_spread",
    "preferred_node_affinity",
    "start_on_idle_gpu",
    "volume_limits",
    "volume_zones",
]
PluginName = Literal[
    "predicates",
    "proportion",
    "priority",
    "elastic",
    "kubeflow",
    "ray",
    "nodeavailability",
    "gpusharingorder",
    "gpupack",
    "resourcetype",
    "subgrouporder",
    "taskorder",
    "nominatednode",
    "dynamicresources",
    "nodeplacement",
    "minruntime",
    "topology",
    "snapshot",
    "sg-nodelocalgreedy",
    "sg-multinodegang",
    "podaffinity",
    "gpuspread",
    "numa",
    "placementpolicy",
    "joborder",
    "reflectjoborder",
]
Arguments = Mapping[str, str | int | float | bool]


class _Named(TypedDict):
    name: PluginName


class TierPlugin(_Named, total=False):
    """A plugin of a tier."""

    arguments: Arguments


class Tier(TypedDict):
    """Plugins that run, in this order."""

    plugins: Sequence[TierPlugin]


@all_in_sentences
@dataclass(frozen=True, kw_only=True)
class Config:
    """A configuration with known names and valid values only.

    KAI's defaults apply to everything that is not set. `plugins` changes the default plugins:
    arguments by name, True to enable a plugin, False to disable it. `tiers` names exactly the
    plugins that run (spec 2 C5). The members are those of KAI's ``--scheduler-conf`` in snake_case,
    and `extras` and `compat` (docs/reference/config.md).

    >>> import kai
    >>> kai.Config(plugins={"numa": True}, extras={"topology_spread": True}).to_dict()
    {'plugins': {'numa': True}, 'extras': {'topology_spread': True}}

    Raises InvalidConfigError for an unknown name and for an invalid value.
    """

    actions: Sequence[Action] | None = None
    """The actions of a cycle, in this order."""
    plugins: Mapping[PluginName, Arguments | bool] = field(default_factory=dict)
    tiers: Sequence[Tier] | None = None
    queue_depth_per_action: Mapping[Action, int] = field(default_factory=dict)
    """How many pod groups of a leaf queue an action tries; -1: all."""
    scenario_search_budgets: Mapping[str, Any] = field(default_factory=dict)
    extras: Mapping[Extra, bool] = field(default_factory=dict)
    """Features of kai that KAI does not have."""
    compat: Mapping[str, Literal["fixed", "kai"]] = field(default_factory=dict)
    """Switches, by name: "kai" keeps KAI's behaviour, "fixed" corrects it
    (docs/compatibility.md)."""
    usage_db_config: Mapping[str, Any] = field(default_factory=dict)
    """Where `kai run` reads the past usage of queues; plans ignore it."""
    scheduler_params: Mapping[str, Any] = field(default_factory=dict)
    """Options of the scheduler's command line, as in a snapshot; a missing one keeps its default.
    They are settings of the cluster: `kai.Cluster.configure` and `kai run` use them."""

    def __post_init__(self) -> None:
        if isinstance(self.actions, str):
            raise InvalidConfigError("actions is a string: write a list, such as ['allocate']")
        for each in self.actions if isinstance(self.actions, Sequence) else ():
            if not isinstance(each, str):
                raise InvalidConfigError(f"actions has {shown(each)}: write names of actions")
        for name, value in vars(self).items():
            wanted: type = Sequence if name in ("actions", "tiers") else Mapping
            if value is not None and not isinstance(value, wanted):
                kind = "a list" if wanted is Sequence else "a mapping"
                raise InvalidConfigError(f"{name} is {shown(value)}: write {kind}")
        text = to_json(self.to_dict())
        parameters.of_config(self.scheduler_params)
        if warnings := read(without_params(text)).warnings:
            raise InvalidConfigError(f"config: {'; '.join(warnings)}")

    @classmethod
    def load(cls, source: Mapping[str, Any] | str | os.PathLike[str]) -> Config:
        """A configuration from a mapping in KAI's format, a text of YAML or JSON, or a file path.

        >>> import kai
        >>> kai.Config.load({"actions": "allocate, reclaim"}).actions
        ('allocate', 'reclaim')

        The source may also be a SchedulingShard, a Config of KAI's operator, the ConfigMap that it
        writes, or the content of a snapshot, whose `config` and `schedulerParams` are used.

        Raises InvalidConfigError if it cannot be read, and as `kai.Config` itself does.
        """
        text = config_json(source)
        if warnings := read(without_params(text)).warnings:
            raise InvalidConfigError(f"config: {'; '.join(warnings)}")
        given: dict[str, Any] = {
            name: value for name, value in json.loads(text or "{}").items() if value is not None
        }
        if "actions" in given:
            given["actions"] = tuple(each.strip() for each in given["actions"].split(","))
        return cls(**{each.name: given[name] for name, each in _MEMBERS.items() if name in given})

    def to_dict(self) -> dict[str, Any]:
        """In KAI's format, with only the given members; for JSON or YAML."""
        shown: dict[str, Any] = {}
        for name, each in _MEMBERS.items():
            value = getattr(self, each.name)
            if value is None or (value == {} and name != "tiers"):
                continue
            shown[name] = ", ".join(value) if name == "actions" else value
        return shown


_MEMBERS = {
    "usageDBConfig" if each.name == "usage_db_config" else camel_name(each.name): each
    for each in fields(Config)
}
"""The members of Config by KAI's names."""

ConfigSource = Config | Mapping[str, Any] | str | os.PathLike[str]


@in_a_sentence
def default_config(*, as_kai: bool = False) -> Config:
    """KAI's built-in configuration with all defaults written out; `as_kai`: all switches as in KAI.

    >>> import kai
    >>> kai.default_config().actions
    ('allocate', 'consolidation', 'reclaim', 'preempt', 'stalegangeviction')
    """
    return Config.load(in_force("", as_kai=as_kai))


def in_force(text: str, *, as_kai: bool = False) -> dict[str, Any]:
    """All members in KAI's format, with all defaults that apply. Raises InvalidConfigError."""
    shown: dict[str, Any] = json.loads(read(text, as_kai=as_kai).to_json())
    return shown


def read(text: str, *, as_kai: bool = False) -> Any:
    """The compiled configuration. Raises InvalidConfigError."""
    from kai import _core

    return _core.Config.parse(text, as_kai=as_kai)


def split(config: ConfigSource) -> tuple[Mapping[str, Any], dict[str, Any]]:
    """A configuration without its `schedulerParams`, and those by their names in the table of
    flags. Raises InvalidConfigError."""
    rest = json.loads(config_json(config) or "{}")
    given = rest.pop(_PARAMS, None)
    return rest, {} if given is None else parameters.of_config(given)


def without_params(text: str) -> str:
    """A configuration as JSON without its `schedulerParams`, which the compiled one does not
    have."""
    if _PARAMS not in text:
        return text
    value = json.loads(text)
    value.pop(_PARAMS, None)
    return to_json(value)


def with_scenarios(text: str, most: int) -> str:
    """A configuration as JSON in which the searches of an action try this many scenarios, unless it
    has a number for that."""
    value = json.loads(text or "{}")
    budgets = {**(value.get("scenarioSearchBudgets") or {})}
    counts = {"action": most, **(budgets.get("maxScenarios") or {})}
    return to_json({**value, "scenarioSearchBudgets": {**budgets, "maxScenarios": counts}})


_PARAMS = "schedulerParams"


def to_json(value: Mapping[str, Any]) -> str:
    """Raises InvalidConfigError for values that JSON cannot hold."""
    try:
        # An empty file means KAI's built-in configuration (spec 2 C6).
        return json.dumps(dict(value), default=_plain) if value else ""
    except (TypeError, ValueError) as error:
        raise InvalidConfigError(f"config: {error}") from None


def config_json(config: ConfigSource) -> str:
    """A configuration from any source as JSON. Raises InvalidConfigError."""
    if isinstance(config, Config):
        return to_json(config.to_dict())
    name = "the configuration"
    value: Any = config
    if isinstance(config, (str, os.PathLike)):
        text = str(config) if _is_text(config) else None
        if text is None:
            name = os.fspath(config)
        with naming(name, InvalidConfigError):
            if text is None:
                text = documents.decode(files.read(config))
            value = _only_one(documents.read_documents(text))
        value = {} if value is None else value
    with naming(name, InvalidConfigError):
        value = shards.settings_in(_of_snapshot(value))
    if isinstance(value, Mapping) and value.get("kind") == "ConfigMap":
        return config_json(_from_config_map(name, value))
    if not isinstance(value, Mapping):
        raise InvalidConfigError(f"{name}: is a {type(value).__name__}, not a mapping")
    try:
        written = to_json(value)
        if config is not value:  # so that errors of a file name the file
            read(without_params(written))
        return written
    except InvalidConfigError as error:
        raise InvalidConfigError(str(error).replace("config", name, 1)) from None


def _of_snapshot(value: Any) -> Any:
    """The configuration of a snapshot, with its `schedulerParams`; other values are unchanged."""
    if not isinstance(value, Mapping) or "rawObjects" not in value:
        return value
    own = value.get("config") or {}
    params = value.get(_PARAMS)
    if not isinstance(own, Mapping) or params is None:
        return own
    return {**own, _PARAMS: parameters.of_snapshot(params)}


def _only_one(given: Iterable[documents.Document]) -> Any:
    """The value of a text, or a List of its objects. Raises InvalidInputError."""
    found = [each for each in given if each.value is not None or each.problem]
    for each in found:
        if each.problem:
            raise InvalidInputError(each.problem)
    values = [each.value for each in found]
    if len(values) > 1 and all(isinstance(each, Mapping) and "kind" in each for each in values):
        return {"kind": "List", "items": values}
    if len(values) > 1:
        raise InvalidInputError(f"contains {len(values)} documents instead of one")
    return values[0] if values else None


def _is_text(config: str | os.PathLike[str]) -> bool:
    """Whether this is the configuration itself, not a path: it has several lines, or a colon and a
    blank."""
    return isinstance(config, str) and ("\n" in config or ": " in config or config == "")


def _from_config_map(name: str, config_map: Mapping[str, Any]) -> str:
    """The file in a ConfigMap of KAI's operator (spec 5 A39)."""
    data = config_map.get("data")
    text = data.get("config.yaml") if isinstance(data, Mapping) else None
    if not isinstance(text, str):
        raise InvalidConfigError(f"{name}: the ConfigMap has no config.yaml")
    return text if _is_text(text) else text + "\n"


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{value!r} is not a valid value in a configuration")
