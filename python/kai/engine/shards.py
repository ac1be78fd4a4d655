"""The configuration that KAI's operator writes for a SchedulingShard (spec 2 C8, spec 5 A39).

>>> found = configuration({"placementStrategy": {"gpu": "spread"}, "plugins": {"numa": {}}})
>>> found["actions"]
'allocate, reclaim, preempt, stalegangeviction'
>>> [each["name"] for each in found["tiers"][0]["plugins"]][-3:]
['gpuspread', 'nodeplacement', 'numa']
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kai.api import kinds
from kai.api.kai_flags import FLAGS
from kai.api.nearest import check_known, did_you_mean
from kai.api.reading import at, mapping
from kai.errors import InvalidConfigError

_PACKING = ("gpupack", "gpusharingorder")
PLUGINS: Mapping[str, int] = {
    "predicates": 1900,
    "proportion": 1800,
    "priority": 1700,
    "nodeavailability": 1600,
    "resourcetype": 1500,
    "podaffinity": 1400,
    "elastic": 1300,
    "kubeflow": 1200,
    "ray": 1100,
    "subgrouporder": 1000,
    "taskorder": 900,
    "nominatednode": 800,
    "dynamicresources": 700,
    "minruntime": 600,
    "topology": 500,
    "snapshot": 400,
    "sg-nodelocalgreedy": 360,
    "sg-multinodegang": 350,
    "gpupack": 300,
    "gpuspread": 300,
    "nodeplacement": 200,
    "gpusharingorder": 100,
}
"""The priorities of the operator; the plugin with the highest one runs first."""
ACTIONS: Mapping[str, int] = {
    "allocate": 500,
    "consolidation": 400,
    "reclaim": 300,
    "preempt": 200,
    "stalegangeviction": 100,
}
_STRATEGY = "placementStrategy"
_COPIED = ("queueDepthPerAction", "usageDBConfig", "scenarioSearchBudgets", "extras", "compat")
"""Members with the same name and format in both. KAI has neither `extras` nor `compat`."""
_MIN_RUNTIMES = {
    "preemptMinRuntime": "defaultPreemptMinRuntime",
    "reclaimMinRuntime": "defaultReclaimMinRuntime",
}


def settings_in(value: Any) -> Any:
    """The configuration that objects of KAI's operator stand for; other values are unchanged.

    A List may have one SchedulingShard; without one, the Config and a shard without settings count.
    A ConfigMap is returned as it is. Raises InvalidConfigError for an object that is none of them,
    for several of a kind, and as `configuration` does.
    """
    if not isinstance(value, Mapping):
        return value
    items = kinds.items_of(value)
    given = [each for each in items or [value] if isinstance(each, Mapping)]
    by_kind = {kind: [each for each in given if each.get("kind") == kind] for kind in _KINDS}
    for kind, found in by_kind.items():
        if len(found) > 1:
            names = [str(at(each, "metadata", "name")) for each in found]
            raise InvalidConfigError(
                f"has {len(found)} objects of kind {kind} ({', '.join(names)}): give one of them"
            )
    shard, config, config_map = (next(iter(by_kind[kind]), None) for kind in _KINDS)
    if shard is None and config is None:
        if config_map is None and (items is not None or "apiVersion" in value):
            what = f"is a {value.get('kind')}"
            raise InvalidConfigError(
                f"{what}: give a scheduler configuration, a SchedulingShard, a Config of KAI's"
                " operator, or the ConfigMap that it writes"
            )
        return value if config_map is None else config_map
    made = configuration(mapping(shard).get("spec") or {})
    shared = at(config, "spec", "global")
    parameters: dict[str, Any] = {
        parameter: text
        for member, parameter in _OF_CONFIG.items()
        if isinstance(text := mapping(shared).get(member), str) and text
    }
    of_shard = dict(mapping(made.get("schedulerParams")))
    if key := parameters.pop(_POOL_KEY, None):
        of_shard["partitionParams"] = {
            _POOL_KEY: key,
            **mapping(of_shard.get("partitionParams")),
        }
    if parameters or of_shard:
        made["schedulerParams"] = {**parameters, **of_shard}
    return made


_POOL_KEY = "NodePoolLabelKey"
_OF_CONFIG = {
    "schedulerName": "schedulerName",
    "queueLabelKey": "queueLabelKey",
    "nodePoolLabelKey": _POOL_KEY,
}
_KINDS = ("SchedulingShard", "Config", "ConfigMap")


def configuration(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration for the `spec` of a SchedulingShard, in the format of `--scheduler-conf`.

    `args` become `schedulerParams` if they change decisions; the others concern the process, and
    are skipped. Raises InvalidConfigError for values of other types, for an `args` that is no flag
    of KAI, and for a `queueDepthPerAction` of an action that does not run.
    """
    strategies = {"gpu": "binpack", "cpu": "binpack", **_member(spec, _STRATEGY)}
    actions = _merged("actions", _actions(strategies), spec)
    depths = _member(spec, "queueDepthPerAction")
    for name in depths:
        if name not in actions:
            raise InvalidConfigError(
                f"spec.queueDepthPerAction: the action {name!r} does not run"
                f"{did_you_mean(name, actions)}"
            )
    plugins = [
        {"name": name, "arguments": arguments} if arguments else {"name": name}
        for name, arguments in _merged("plugins", _plugins(spec, strategies), spec).items()
    ]
    made: dict[str, Any] = {"actions": ", ".join(actions), "tiers": [{"plugins": plugins}]}
    made |= {name: dict(_member(spec, name)) for name in _COPIED if spec.get(name)}
    if parameters := _parameters(spec):
        made["schedulerParams"] = parameters
    return made


@dataclass
class _Entry:
    """A plugin or an action."""

    priority: int = 0
    enabled: bool = True
    arguments: Mapping[str, Any] = field(default_factory=dict)


def _actions(strategies: Mapping[str, Any]) -> dict[str, _Entry]:
    is_spread = "spread" in strategies.values()
    return {
        name: _Entry(priority, not (name == "consolidation" and is_spread))
        for name, priority in ACTIONS.items()
    }


def _plugins(spec: Mapping[str, Any], strategies: Mapping[str, Any]) -> dict[str, _Entry]:
    packs = strategies["gpu"] == "binpack"  # any other text spreads (spec 5 A34)
    entries = {name: _Entry(priority) for name, priority in PLUGINS.items()}
    for name in _PACKING if not packs else ("gpuspread",):
        entries[name].enabled = False
    entries["nodeplacement"].arguments = strategies
    runtimes = _member(spec, "minRuntime")
    entries["minruntime"].arguments = {
        argument: runtimes[name] for name, argument in _MIN_RUNTIMES.items() if runtimes.get(name)
    }
    if spec.get("kValue") is not None:
        entries["proportion"].arguments = {"kValue": f"{spec['kValue']:g}"}
    return entries


def _merged(
    member: str, entries: Mapping[str, _Entry], spec: Mapping[str, Any]
) -> dict[str, Mapping[str, Any]]:
    """The arguments of what runs, by name, in its order. `arguments` of the shard replace all
    default ones, as in KAI."""
    every = dict(entries)
    for name, change in _member(spec, member).items():
        if not isinstance(change, Mapping):
            raise InvalidConfigError(f"spec.{member}.{name}: {change!r} is not a mapping")
        entry = every.setdefault(name, _Entry())
        priority = change.get("priority", entry.priority)
        enabled = change.get("enabled", entry.enabled)
        if not isinstance(priority, int) or not isinstance(enabled, bool):
            raise InvalidConfigError(
                f"spec.{member}.{name}: priority must be a whole number, and enabled true or false"
            )
        entry.priority, entry.enabled = priority, enabled
        entry.arguments = change.get("arguments", entry.arguments)
    order = sorted(every, key=lambda name: (-every[name].priority, name))
    return {name: every[name].arguments for name in order if every[name].enabled}


def _parameters(spec: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if pool := spec.get("partitionLabelValue"):
        found["partitionParams"] = {"NodePoolLabelValue": pool}
    for name, value in _member(spec, "args").items():
        check_known([name], FLAGS, "spec.args: KAI's scheduler has no flag", InvalidConfigError)
        if parameter := FLAGS[name].parameter:
            head, _, tail = parameter.partition(".")
            if tail:
                found.setdefault(head, {})[tail] = value
            else:
                found[head] = value
    return found


def _member(spec: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = spec.get(name)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidConfigError(f"spec.{name}: {value!r} is not a mapping")
    return value
