"""A side of a comparison: a configuration, optionally with other queues or nodes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kai.engine import config as configuration
from kai.engine.config import Config, ConfigSource
from kai.policy.declaring import Policy
from kai.sim.workload import NodePool, Queue, Workload

__all__ = ["Point", "Side"]


@dataclass(frozen=True, kw_only=True)
class Side:
    """One side of a comparison.

    ``config``: as for `kai.Scheduler`; None: KAI's defaults. ``queues`` and ``nodes`` replace those
    of the workload; kai cuts the jobs of traces into other pods if the nodes have another size
    (`kai.sim.workload.Workload.on_nodes`). ``as_kai`` keeps KAI's behaviour in all switches.
    ``policies`` are functions declared with `kai.policy`; other processes import them by name, or
    from the file that `kai.policy.load` has read.

    >>> import kai
    >>> side = kai.Side(config={"actions": "allocate"}, name="no reclaim")
    >>> side.as_kai
    False
    """

    config: ConfigSource | None = None
    queues: Sequence[Queue] | None = None
    nodes: Sequence[NodePool] | None = None
    as_kai: bool = False
    policies: Sequence[Policy] = ()
    name: str = ""


@dataclass(frozen=True)
class Point:
    """A `Side` with its configuration read; it is sent to other processes."""

    name: str
    config: str | None  # JSON
    queues: tuple[Queue, ...] | None = None
    nodes: tuple[NodePool, ...] | None = None
    as_kai: bool = False
    policies: tuple[Policy, ...] = ()
    warnings: tuple[str, ...] = ()

    @classmethod
    def of(cls, side: Side | ConfigSource | None, name: str) -> Point:
        """``name`` is used unless the side has a name, or its configuration is a file.

        Raises InvalidConfigError for a configuration that cannot be used.
        """
        given = side if isinstance(side, Side) else Side(config=side)
        text = None if given.config is None else configuration.config_json(given.config)
        read = configuration.read(text or "", as_kai=given.as_kai)
        return cls(
            name=given.name or _file_name(given.config) or name,
            config=text or None,
            queues=None if given.queues is None else tuple(given.queues),
            nodes=None if given.nodes is None else tuple(given.nodes),
            as_kai=given.as_kai,
            policies=tuple(given.policies),
            warnings=tuple(map(str, read.warnings)),
        )

    def changed(self, workload: Workload) -> Workload:
        """The workload with the queues and nodes of this side."""
        if self.queues is not None:
            workload = replace(workload, queues=self.queues)
        if self.nodes is not None:
            workload = workload.on_nodes(self.nodes)
        return workload


def _file_name(config: ConfigSource | None) -> str:
    """The name of a file, without its folder; empty if the configuration is not a file."""
    if isinstance(config, (Config, Mapping)) or config is None:
        return ""
    if isinstance(config, str) and ("\n" in config or ": " in config):
        return ""
    return os.path.basename(os.fspath(config))
