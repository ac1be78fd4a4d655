"""Scheduler(config).plan(cluster): one cycle, as a function.

>>> import kai
>>> cluster = kai.Cluster().queue("a").node("n1", gpus=1).pending("a/one", gpus=1)
>>> kai.Scheduler().plan(cluster, now="2026-01-01T00:00:00Z").decisions
(Bind(pod='a/one-0', node='n1', gpus=1),)
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kai.api import documents, times
from kai.engine.cluster import Cluster
from kai.engine.plan import Plan
from kai.engine.situation import Situation
from kai.errors import InvalidConfigError, InvalidInputError

if TYPE_CHECKING:
    from kai import _core

Config = Mapping[str, Any] | str | os.PathLike[str] | None


class Scheduler:
    """Plans clusters with one configuration.

    `config` is a mapping, the text of a YAML or JSON file, or its path, in the form that KAI's
    ``--scheduler-conf`` has (spec 2 C5); None is the configuration each snapshot carries, and KAI's
    defaults where it carries none. `as_kai` decides as KAI does also where kai knows better
    (docs/compatibility.md). Raises InvalidConfigError for a configuration that cannot be used.

    >>> import kai
    >>> cluster = kai.Cluster().queue("a").node("n1", gpus=1).pending("a/x", gpus=1)
    >>> kai.Scheduler().plan(cluster).decisions
    (Bind(pod='a/x-0', node='n1', gpus=1),)
    >>> kai.Scheduler({"actions": "reclaim"}).plan(cluster).decisions
    ()
    """

    def __init__(self, config: Config = None, *, as_kai: bool = False) -> None:
        self._as_kai = as_kai
        self._sessions: dict[str, tuple[_core.Session, tuple[str, ...]]] = {}
        self._config = None if config is None else _config_json(config)
        if self._config is not None:
            self._session(self._config)

    def plan(self, cluster: Cluster, *, now: datetime | str | None = None) -> Plan:
        """What one cycle decides about this cluster, which stays as it is.

        A cluster that changed (`kai.Cluster.upsert`, `.delete`) is planned again at the cost of
        what changed, by every scheduler for itself.

        `now` is the time of the cycle, a datetime with a time zone or an RFC 3339 text; unless
        given, the cluster's own, else the current time. The same input gives the same plan. Other
        Python threads run meanwhile.

        Raises InvalidInputError for a time that is none and for a snapshot that cannot be read,
        InvalidConfigError for the configuration that a snapshot carries, and BusyError when another
        thread plans the same cluster.
        """
        if not isinstance(cluster, Cluster):
            raise TypeError(
                f"plan() takes a kai.Cluster, not {type(cluster).__name__}; see kai.load"
            )
        if now is not None:
            now_ns = times.to_ns(now)
        else:
            # Whole seconds, as all time stamps of KAI are.
            clock_ns = int(time.time()) * times.SECOND_NS
            now_ns = clock_ns if cluster._now_ns is None else cluster._now_ns
        compiled = cluster._core_cluster()
        config = compiled.config_json if self._config is None else self._config
        session, warnings = self._session(config)
        plan = session.plan(compiled, now_ns=now_ns)
        return Plan(
            plan,
            input=cluster.name,
            now_ns=now_ns,
            rejected=cluster._all_rejected(plan.rejected),
            warnings=tuple(dict.fromkeys((*warnings, *plan.warnings))),
            situation=Situation(plan),
        )

    def _session(self, config: str) -> tuple[_core.Session, tuple[str, ...]]:
        """A session for this configuration, read once."""
        if config not in self._sessions:
            from kai import _core

            parsed = _core.Config.parse(config, as_kai=self._as_kai)
            self._sessions[config] = _core.Session(parsed), tuple(parsed.warnings)
        return self._sessions[config]

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_sessions": {}}  # made again when first needed

    def __repr__(self) -> str:
        config = "of each snapshot" if self._config is None else self._config
        return f"<kai.Scheduler, configuration {config}{', as KAI' if self._as_kai else ''}>"


def _config_json(config: Mapping[str, Any] | str | os.PathLike[str]) -> str:
    name = "the configuration"
    value: Any = config
    if isinstance(config, (str, os.PathLike)):
        text = str(config) if _is_text(config) else None
        if text is None:
            name = os.fspath(config)
            try:
                text = documents.decode(Path(config).read_bytes())
            except OSError as error:
                raise InvalidConfigError(f"{name}: {documents.why_unreadable(error)}") from None
            except InvalidInputError as error:
                raise InvalidConfigError(f"{name}: {error}") from None
        try:
            value = documents.read_value(text)
        except InvalidInputError as error:
            raise InvalidConfigError(f"{name}: {error}") from None
        value = {} if value is None else value
    if isinstance(value, Mapping) and value.get("kind") == "ConfigMap":
        return _config_json(_from_config_map(name, value))
    if not isinstance(value, Mapping):
        raise InvalidConfigError(f"{name}: is a {type(value).__name__}, not a mapping")
    try:
        # An empty file is KAI's built-in configuration (spec 2 C6).
        return json.dumps(dict(value), default=dict) if value else ""
    except (TypeError, ValueError) as error:
        raise InvalidConfigError(f"{name}: {error}") from None


def _is_text(config: str | os.PathLike[str]) -> bool:
    """A configuration itself, rather than the path of one: it has lines, or a colon and a blank."""
    return isinstance(config, str) and ("\n" in config or ": " in config or config == "")


def _from_config_map(name: str, config_map: Mapping[str, Any]) -> str:
    """The file that KAI's operator put into a ConfigMap (spec 5 A39)."""
    data = config_map.get("data")
    text = data.get("config.yaml") if isinstance(data, Mapping) else None
    if not isinstance(text, str):
        raise InvalidConfigError(f"{name}: the ConfigMap has no config.yaml")
    return text if _is_text(text) else text + "\n"
