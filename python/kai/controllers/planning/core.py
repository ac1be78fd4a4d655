"""The compiled objects of a planner, and its configuration."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from kai.controllers.planning.kinds import OF_PLUGINS
from kai.controllers.planning.options import PlanningOptions
from kai.engine import config as configuration

if TYPE_CHECKING:
    from kai import _core


class Core(NamedTuple):
    """The compiled objects: a cluster, the feed that fills it, and the session that plans it."""

    cluster: _core.Cluster
    feed: _core.Feed
    session: _core.Session


def read_config(options: PlanningOptions) -> _core.Config:
    """Raises InvalidConfigError for a configuration that cannot be used."""
    text = "" if options.config is None else configuration.config_json(options.config)
    config: _core.Config = configuration.read(text, as_kai=options.as_kai)
    if not options.policies:
        return config
    from kai.policy.running import configured

    return configured(config, options.policies)


def not_used(options: PlanningOptions) -> frozenset[str]:
    """Kinds that only plugins outside this configuration need."""
    tiers = json.loads(read_config(options).to_json())["tiers"]
    plugins = {plugin["name"] for tier in tiers for plugin in tier["plugins"]}
    return frozenset(kind for kind, plugin in OF_PLUGINS.items() if plugin not in plugins)


def make_core(options: PlanningOptions) -> Core:
    """An empty cluster. Raises InvalidConfigError for a configuration that cannot be used."""
    from kai import _core

    cluster = _core.live_cluster(json.dumps(options.scheduler_params()))
    feed = _core.Feed(cluster, options.scheduler_name)
    return Core(cluster, feed, _core.Session(read_config(options)))
