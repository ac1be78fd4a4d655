"""The flags of KAI's programs, and what each of them is here: one table.

>>> row = FLAGS["max-consolidation-preemptees"]
>>> row.parameter, row.value("4")
('maxNumberConsolidationPreemptees', 4)
>>> FLAGS["partition-label-value"].option, FLAGS["qps"].note
('node-pool', 'the number of requests at a time limits the load')

`kai run` reads the flags on its command line with this table, in each of its programs. The `args`
of a SchedulingShard have the same names. docs/reference/cli.md has the table for users; a test
compares both.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from kai.api.durations import go_seconds
from kai.api.reading import whole_number
from kai.errors import InvalidInputError

Kind = Literal["bool", "whole", "number", "duration", "text", "json"]
_TRUE = frozenset(("1", "t", "T", "TRUE", "true", "True"))
_FALSE = frozenset(("0", "f", "F", "FALSE", "false", "False"))
_NUMBER = re.compile(r"[+-]?[0-9]{1,18}(\.[0-9]{1,18})?")
_A_VALUE = {
    "bool": "true or false",
    "whole": "a whole number",
    "number": "a number",
    "duration": "a duration like 1m30s",
    "json": "JSON",
}


@dataclass(frozen=True, slots=True)
class Flag:
    """A flag of KAI's programs.

    `programs`: those that have it, by the names of our roles. `option`: the option of `kai run`
    that does the same; "!" before it: its opposite. `parameter`: the member of `schedulerParams`
    that it sets, with a dot between the members of members. `note`: why it has no effect here.
    """

    name: str
    kind: Kind
    programs: tuple[str, ...]
    option: str = ""
    parameter: str = ""
    note: str = ""

    def value(self, given: object) -> Any:
        """The value of the parameter: from a text as Go reads it, or from a value of that type;
        durations are in nanoseconds. Raises InvalidInputError."""
        if self.kind == "bool":
            found = given if isinstance(given, bool) else truth_of(str(given))
            if found is not None:
                return found
        elif self.kind == "whole":
            if isinstance(given, int) and not isinstance(given, bool):
                return given
            if isinstance(given, str) and whole_number(given) is not None:
                return int(given)
        elif self.kind == "number":
            if isinstance(given, str) and _NUMBER.fullmatch(given):
                return float(given)
        elif self.kind == "duration":
            if isinstance(given, int) and not isinstance(given, bool):
                return given
            if isinstance(given, str):
                try:
                    return round(go_seconds(given) * 1e9)
                except InvalidInputError:
                    pass
        elif isinstance(given, str) and (self.kind == "text" or _is_json(given)):
            return given
        raise InvalidInputError(
            f"{self.name}: {given!r} is not {_A_VALUE.get(self.kind, 'a text')}"
        )


def _is_json(text: str) -> bool:
    """Whether it is JSON, or empty, which KAI's programs take as absent."""
    try:
        json.loads(text or "null")
    except ValueError:
        return False
    return True


def truth_of(text: str) -> bool | None:
    """A boolean as Go reads it; None for another text.

    >>> truth_of("T"), truth_of("False"), truth_of("yes")
    (True, False, None)
    """
    return True if text in _TRUE else False if text in _FALSE else None


_SCHEDULER, _BINDER, _GROUPER = ("scheduler",), ("binder",), ("pod-grouper",)
_GROUPS, _QUEUES, _NUMA = ("pod-group-controller",), ("queue-controller",), ("numa-exporter",)
_ADMISSION = ("admission",)
_CONTROLLERS = (*_BINDER, *_GROUPER, *_GROUPS, *_QUEUES, *_ADMISSION)
_ALL = (*_SCHEDULER, *_BINDER, *_GROUPER, *_GROUPS, *_QUEUES)

_REQUESTS = "the number of requests at a time limits the load"
_PROFILES = "there is no profiler of Go; /metrics has the times of each phase"
_RETRIES = "waits after a failure are fixed"
_ALL_PODS = "pods are selected by their scheduler name only"
_WORKERS = "the labels of workers are node-role.kubernetes.io/cpu-worker and /gpu-worker"
_PRIORITIES = "defaults for each kind of owner are not read"
_ZAP = "log lines have one format, or JSON with --log-json"
_WEBHOOK = "kai run admission has the webhooks"

_ROWS = (
    # ---- which pods, nodes and queues
    Flag("scheduler-name", "text", (*_SCHEDULER, *_BINDER, *_GROUPER, *_GROUPS, *_ADMISSION),
         "scheduler-name",
         "schedulerName"),
    Flag("namespace", "text", _SCHEDULER, "namespace"),
    Flag("nodepool-label-key", "text", (*_SCHEDULER, *_GROUPER), "nodepool-label-key",
         "partitionParams.NodePoolLabelKey"),
    Flag("partition-label-value", "text", _SCHEDULER, "node-pool",
         "partitionParams.NodePoolLabelValue"),
    Flag("queue-label-key", "text", (*_SCHEDULER, *_GROUPER), "queue-label-key", "queueLabelKey"),
    Flag("pod-label-selector", "text", _GROUPER, note=_ALL_PODS),
    Flag("namespace-label-selector", "text", _GROUPER, note=_ALL_PODS),
    # ---- decisions
    Flag("scheduler-conf", "text", _SCHEDULER, "config"),
    Flag("schedule-period", "duration", _SCHEDULER, "schedule-period", "schedulePeriod"),
    Flag("restrict-node-scheduling", "bool", _SCHEDULER, parameter="restrictSchedulingNodes"),
    Flag("full-hierarchy-fairness", "bool", _SCHEDULER, parameter="fullHierarchyFairness"),
    Flag("max-consolidation-preemptees", "whole", _SCHEDULER,
         parameter="maxNumberConsolidationPreemptees"),
    Flag("use-scheduling-signatures", "bool", _SCHEDULER, parameter="useSchedulingSignatures"),
    Flag("allow-consolidating-reclaim", "bool", _SCHEDULER, parameter="allowConsolidatingReclaim"),
    Flag("default-staleness-grace-period", "duration", _SCHEDULER,
         parameter="globalDefaultStalenessGracePeriod"),
    Flag("stuck-in-releasing-threshold", "duration", _SCHEDULER,
         parameter="stuckInReleasingThreshold"),
    Flag("schedule-csi-storage", "bool", _SCHEDULER, parameter="scheduleCSIStorage"),
    Flag("detailed-fit-errors", "bool", _SCHEDULER, parameter="detailedFitErrors"),
    Flag("num-of-status-recording-workers", "whole", _SCHEDULER,
         parameter="numOfStatusRecordingWorkers", note=_REQUESTS),
    Flag("update-pod-eviction-condition", "bool", _SCHEDULER,
         parameter="updatePodEvictionCondition", note="evicted pods get an event, no condition"),
    Flag("cpu-worker-node-label-key", "text", _SCHEDULER, note=_WORKERS),
    Flag("gpu-worker-node-label-key", "text", _SCHEDULER, note=_WORKERS),
    Flag("mig-worker-node-label-key", "text", _SCHEDULER, note=_WORKERS),
    Flag("knative-gang-schedule", "bool", _GROUPER,
         note="Knative revisions are grouped as with KAI's default"),
    Flag("generic-karta-fallback", "bool", _GROUPER, note="Karta's kinds are not read"),
    Flag("search-legacy-pg", "bool", _GROUPER, note="pod groups with older names are not used"),
    Flag("default-priorities-configmap-name", "text", _GROUPER, note=_PRIORITIES),
    Flag("default-priorities-configmap-namespace", "text", _GROUPER, note=_PRIORITIES),
    # ---- shared GPUs and bindings
    Flag("resource-reservation-namespace", "text", _BINDER,
         option="resource-reservation-namespace"),
    Flag("resource-reservation-service-account", "text", _BINDER,
         option="resource-reservation-service-account"),
    Flag("resource-reservation-pod-image", "text", _BINDER,
         option="resource-reservation-pod-image"),
    Flag("resource-reservation-app-label", "text", (*_SCHEDULER, *_BINDER),
         option="resource-reservation-app-label"),
    Flag("resource-reservation-allocation-timeout", "whole", _BINDER,
         "resource-reservation-allocation-timeout"),
    Flag("resource-reservation-pod-resources", "json", _BINDER,
         "resource-reservation-pod-resources"),
    Flag("resource-reservation-pod-security-context", "json", _BINDER,
         option="resource-reservation-pod-security-context"),
    Flag("resource-reservation-container-security-context", "json", _BINDER,
         option="resource-reservation-container-security-context"),
    Flag("runtime-class-name", "text", _BINDER, "runtime-class-name"),
    Flag("fake-gpu-nodes", "bool", (*_BINDER, *_ADMISSION), "fake-gpu-nodes"),
    Flag("cdi-enabled", "bool", _BINDER, "cdi"),
    Flag("plugins", "json", _BINDER, "plugins"),
    Flag("scale-adjust-namespace", "text", _BINDER, note="no pods are created for autoscalers"),
    Flag("feature-gates", "text", _BINDER, note="features are found in what the server serves"),
    # ---- the process
    Flag("leader-elect", "bool", (*_ALL, *_ADMISSION), "leader-elect"),
    Flag("listen-address", "text", _SCHEDULER, "listen-address"),
    Flag("metrics-bind-address", "text", (*_BINDER, *_GROUPER, *_GROUPS, *_ADMISSION),
         "listen-address"),
    Flag("metrics-listen-address", "text", _QUEUES, "listen-address"),
    Flag("health-probe-bind-address", "text", (*_BINDER, *_GROUPER, *_GROUPS, *_ADMISSION),
         "listen-address"),
    Flag("metrics-namespace", "text", (*_SCHEDULER, *_QUEUES), "metrics-namespace"),
    Flag("queue-label-to-metric-label", "text", _QUEUES, "queue-label-to-metric-label"),
    Flag("queue-label-to-default-metric-value", "text", _QUEUES,
         "queue-label-to-default-metric-value"),
    Flag("log-json", "bool", _SCHEDULER, "log-json"),
    Flag("zap-devel", "bool", _CONTROLLERS, "!log-json"),
    Flag("zap-encoder", "text", _CONTROLLERS, note=_ZAP),
    Flag("zap-log-level", "text", _CONTROLLERS, note="--verbose writes more lines"),
    Flag("zap-stacktrace-level", "text", _CONTROLLERS, note=_ZAP),
    Flag("zap-time-encoding", "text", _CONTROLLERS, note=_ZAP),
    Flag("v", "whole", _SCHEDULER, note="--verbose writes more lines"),
    Flag("log-level", "whole", _GROUPS, note="--verbose writes more lines"),
    Flag("qps", "number", (*_ALL, *_ADMISSION, *_NUMA), note=_REQUESTS),
    Flag("burst", "whole", (*_ALL, *_ADMISSION, *_NUMA), note=_REQUESTS),
    Flag("max-concurrent-reconciles", "whole", (*_BINDER, *_GROUPER, *_GROUPS), note=_REQUESTS),
    Flag("rate-limiter-base-delay", "whole", (*_BINDER, *_ADMISSION), note=_RETRIES),
    Flag("rate-limiter-max-delay", "whole", (*_BINDER, *_ADMISSION), note=_RETRIES),
    Flag("enable-webhook", "bool", _QUEUES, note=_WEBHOOK),
    Flag("enable-quota-validation", "bool", _QUEUES, note=_WEBHOOK),
    Flag("enable-podgroup-webhook", "bool", _GROUPS, note=_WEBHOOK),
    Flag("skip-controller-name-validation", "bool", (*_GROUPS, *_QUEUES),
         note="there are no controllers with names"),
    Flag("version", "bool", _SCHEDULER, note="the first line of the log has the version"),
    Flag("plugin-server-port", "whole", _SCHEDULER, note="/get-snapshot is at --listen-address"),
    Flag("enable-profiler", "bool", _SCHEDULER, note=_PROFILES),
    Flag("profiler-port", "text", _SCHEDULER, note=_PROFILES),
    Flag("pyroscope-address", "text", _SCHEDULER, note=_PROFILES),
    Flag("pyroscope-mutex-profiler-rate", "whole", _SCHEDULER, note=_PROFILES),
    Flag("pyroscope-block-profiler-rate", "whole", _SCHEDULER, note=_PROFILES),
    # ---- admission
    Flag("webhook-addr", "whole", _ADMISSION, "webhook-addr"),
    Flag("gpu-sharing-enabled", "bool", _ADMISSION, "gpu-sharing-enabled"),
    Flag("gpu-pod-runtime-class-name", "text", _ADMISSION, "gpu-pod-runtime-class-name"),
    Flag("hami-core-enabled", "bool", _ADMISSION, "hami-core-enabled"),
    Flag("block-nvidia-visible-devices", "bool", _ADMISSION, "block-nvidia-visible-devices"),
    # ---- numa-exporter
    Flag("node-name", "text", _NUMA, "node-name"),
    Flag("podresources-socket", "text", _NUMA, "podresources-socket"),
    Flag("sysfs-root", "text", _NUMA, "sysfs-root"),
    Flag("poll-interval", "duration", _NUMA, "poll-interval"),
    Flag("drift-resync-interval", "duration", _NUMA, "drift-resync-interval"),
)  # fmt: skip

FLAGS: Mapping[str, Flag] = {each.name: each for each in _ROWS}
"""By name, without dashes."""

PARAMETERS: Mapping[str, Flag] = {each.parameter: each for each in _ROWS if each.parameter}
"""By the member of `schedulerParams`."""

ADDED_PARAMETERS: Mapping[str, Flag] = {
    name: Flag("", "bool", (), parameter=name)
    for name in ("countMigAsParts", "countAllAccelerators")
}
"""Members of `schedulerParams` that KAI does not have."""
