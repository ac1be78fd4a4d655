"""The options of `kai run` and `kai.run`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from kai.api import keys, quantities
from kai.api.names import object_name, problem_of_metrics_namespace
from kai.api.nearest import check_known, did_you_mean
from kai.controllers.planning.options import ROLES, PlanningOptions
from kai.controllers.pods.sharing import Reservations
from kai.engine import config as configuration
from kai.errors import InvalidInputError

if TYPE_CHECKING:
    from kai.policy import Policy

ALL = "all"
QUEUE_LABELS = ("queue_name", "queue_metadata_name", "queue_display_name")
"""Labels of all metrics about queues."""
_METRIC_LABEL = re.compile("[a-zA-Z][a-zA-Z0-9_]*")

BINDINGS: tuple[str, ...] = ("direct", "bind-requests")
EVICTIONS: tuple[str, ...] = ("delete", "evict")

LEASES = {
    "scheduler": keys.SCHEDULER_NAME,
    "binder": "2ad35f9c.kai.scheduler",
    "pod-grouper": "54dff599.kai.scheduler",
    "pod-group-controller": "o1x22tjj.kai.scheduler",
    "queue-controller": "ov3xj497.kai.scheduler",
}
"""The lease of each role, by the names that KAI's own programs use (spec 6 C1)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(PlanningOptions):
    """All options except those of the connection.

    `eviction`: "evict" respects PodDisruptionBudgets, "delete" is KAI's way. Times are in seconds.
    `min_period`: the shortest time from the end of one cycle to the next one; `max_period`: a cycle
    runs after this time even if nothing has changed. `compare_period`: how often the leader
    compares what its watches have shown with the API server; 0: never. `writers`: the number of
    concurrent requests. `queue_label_to_metric_label`: labels of queues that their metrics get too,
    with the metric label's name; `queue_label_to_default_metric_value`: values for queues without
    such a label. `explain`: the address of /explain, for callers with a token. `volume_seconds`:
    time limit for the volumes of a pod. `shadow`: nothing is written; decisions are compared with
    those of the scheduler that runs in the cluster. A decision that it does not take within
    `shadow_patience` counts as missed, and the result is written to the file `shadow_report` at the
    end.

    In the scheduler of a cluster, `policies` need `allow_python_policies`, because a slow policy
    delays every decision, and a failing one ends the run.

    `resource_reservation_...`, `runtime_class_name` and `fake_gpu_nodes` are for the pods that hold
    shared GPUs (`reservations`); `cdi` and `hami_core` for the ConfigMaps of pods that share one.
    """

    namespace: str = "kai-scheduler"
    allow_python_policies: bool = False
    eviction: Literal["delete", "evict"] = "delete"
    leader_elect: bool = True
    listen: str | None = None
    explain: str | None = None
    metrics_namespace: str = "kai"
    queue_label_to_metric_label: dict[str, str] = field(default_factory=dict)
    queue_label_to_default_metric_value: dict[str, str] = field(default_factory=dict)
    min_period: float = 0.02
    max_period: float = 30.0
    compare_period: float = 600.0
    writers: int = 32
    lease_seconds: float = 15.0
    renew_seconds: float = 10.0
    retry_seconds: float = 5.0
    resource_reservation_namespace: str = keys.RESERVATION
    resource_reservation_app_label: str = keys.RESERVATION
    resource_reservation_service_account: str = keys.RESERVATION
    resource_reservation_pod_image: str = ""
    resource_reservation_pod_resources: dict[str, Any] = field(default_factory=dict)
    resource_reservation_pod_security_context: dict[str, Any] = field(default_factory=dict)
    resource_reservation_container_security_context: dict[str, Any] = field(default_factory=dict)
    resource_reservation_allocation_timeout: float = 40.0
    runtime_class_name: str = ""
    fake_gpu_nodes: bool = False
    cdi: bool = False
    hami_core: bool = False
    volume_seconds: float = 120.0
    shadow: bool = False
    shadow_patience: float = 10.0
    shadow_report: str | None = None

    def __post_init__(self) -> None:
        check_known(self.roles, ROLES, "there is no role")
        if not self.roles:
            raise InvalidInputError("no role is given: scheduler, pod-grouper, ..., or all")
        if why := problem_of_metrics_namespace(self.metrics_namespace):
            raise InvalidInputError(why)
        if self.policies and not self.allow_python_policies:
            names = ", ".join(each.name for each in self.policies)
            raise InvalidInputError(
                f"policies in Python ({names}) run in the scheduler of a cluster only if you allow"
                " it, because a slow or failing policy stops all decisions: use"
                " --allow-python-policies, or allow_python_policies=True"
            )
        self._check_metric_labels()
        self._check_reservations()
        for name, allowed in (("binding", BINDINGS), ("eviction", EVICTIONS)):
            value: Any = getattr(self, name)
            if value not in allowed:
                hint = did_you_mean(value, allowed) if isinstance(value, str) else ""
                raise InvalidInputError(
                    f"{name} must be {' or '.join(allowed)}, not {value!r}{hint}"
                )
        if self.shadow and not self.has("scheduler"):
            raise InvalidInputError("a shadow compares decisions: it needs the role scheduler")
        if self.explain and (self.shadow or not self.has("scheduler")):
            raise InvalidInputError(
                "only a scheduler explains its plans: --explain-address needs the role scheduler,"
                " without --shadow"
            )
        if self.shadow_report and not self.shadow:
            raise InvalidInputError("only a shadow writes a shadow report: use --shadow")
        if self.shadow_patience <= 0:
            raise InvalidInputError(
                f"the shadow patience must be longer than 0 s, not {self.shadow_patience:g} s"
            )
        if not self.lease_seconds > self.renew_seconds > self.retry_seconds > 0:
            raise InvalidInputError(
                f"leader election: a lease of {self.lease_seconds:g} s, a renew deadline of"
                f" {self.renew_seconds:g} s and a retry period of {self.retry_seconds:g} s: each"
                " must be longer than the next one"
            )

    def _check_metric_labels(self) -> None:
        labels = self.queue_label_to_metric_label
        known: set[str] = set(QUEUE_LABELS)
        for own, name in labels.items():
            if not _METRIC_LABEL.fullmatch(name) or name in known:
                taken = (
                    "is already a label of these metrics"
                    if name in known
                    else "is not a valid name"
                )
                raise InvalidInputError(
                    f"the queue label {own!r} cannot be the metric label {name!r}: that {taken}"
                )
            known.add(name)
        for own in self.queue_label_to_default_metric_value:
            if own not in labels:
                raise InvalidInputError(
                    f"there is a default for the queue label {own!r}, which is not a metric label"
                    f"{did_you_mean(own, labels)}"
                )

    def _check_reservations(self) -> None:
        if self.resource_reservation_app_label != keys.RESERVATION:
            raise InvalidInputError(
                f"the label app of reservation pods must be {keys.RESERVATION}, not"
                f" {self.resource_reservation_app_label!r}: the scheduler finds them by it"
            )
        if not self.resource_reservation_allocation_timeout > 0:
            raise InvalidInputError(
                "the resource reservation allocation timeout must be longer than 0 s, not"
                f" {self.resource_reservation_allocation_timeout:g} s"
            )
        for half, amounts in self.resource_reservation_pod_resources.items():
            if half not in ("requests", "limits") or not isinstance(amounts, Mapping):
                raise InvalidInputError(
                    "resources of reservation pods must be requests and limits, each with amounts"
                    f" by name, not {half}: {amounts!r}"
                )
            for name, amount in amounts.items():
                if quantities.parse_or_zero(amount) <= 0:
                    raise InvalidInputError(
                        f"resources of reservation pods: {half} of {name} is {amount!r}: write a"
                        " quantity such as 10m or 64Mi"
                    )

    def reservations(self) -> Reservations:
        """The common settings of the pods that hold shared GPUs."""
        from kai.install.manifests import default_image

        return Reservations(
            image=self.resource_reservation_pod_image or default_image(),
            namespace=self.resource_reservation_namespace,
            app=self.resource_reservation_app_label,
            account=self.resource_reservation_service_account,
            resources=self.resource_reservation_pod_resources,
            pod_security=self.resource_reservation_pod_security_context,
            container_security=self.resource_reservation_container_security_context,
            runtime_class=self.runtime_class_name,
            timeout=self.resource_reservation_allocation_timeout,
            fake=self.fake_gpu_nodes,
        )

    def leases(self) -> tuple[str, ...]:
        """The names of the required leases, in the same order in all programs."""
        names = []
        for role in ROLES:
            if role in self.roles:
                name = LEASES[role]
                if role == "scheduler":
                    name = self.scheduler_name
                    if self.node_pool:
                        name += f"-{self.node_pool}"
                names.append(object_name(name))
        return tuple(sorted(names))

    def with_config(self) -> Options:
        """The options with the `schedulerParams` of the configuration. An option that has not its
        default value, and `params`, count more.

        Raises InvalidConfigError for a configuration that cannot be read, and for a parameter that
        does not exist or has a value of another type.
        """
        if self.config is None:
            return self
        config, found = configuration.split(self.config)
        if not found:
            return self
        changed: dict[str, Any] = {"config": config}
        for parameter, name in _OF_OPTIONS.items():
            if parameter in found and getattr(self, name) == getattr(_DEFAULT, name):
                value = found[parameter]
                changed[name] = value / 1e9 if parameter == "schedulePeriod" else value
            found.pop(parameter, None)
        return replace(self, **changed, params={**found, **self.params})

    def queue_metric_labels(self) -> list[tuple[str, str, str]]:
        """A label of queues, the label of metrics, and its value for queues without the first."""
        defaults = self.queue_label_to_default_metric_value
        found = self.queue_label_to_metric_label.items()
        return [(own, name, defaults.get(own, "")) for own, name in found]


_DEFAULT = Options()
_OF_OPTIONS = {
    "schedulerName": "scheduler_name",
    "partitionParams.NodePoolLabelKey": "node_pool_key",
    "partitionParams.NodePoolLabelValue": "node_pool",
    "queueLabelKey": "queue_label_key",
    "schedulePeriod": "min_period",
}
"""The members of Options that are parameters of the scheduler, by parameter."""


class RunOptions(TypedDict, total=False):
    """The members of Options except the roles, for calls that set some of them."""

    scheduler_name: str
    namespace: str
    node_pool_key: str
    node_pool: str
    queue_label_key: str
    config: Any
    as_kai: bool
    policies: tuple[Policy, ...]
    allow_python_policies: bool
    binding: Literal["direct", "bind-requests"]
    eviction: Literal["delete", "evict"]
    leader_elect: bool
    listen: str | None
    explain: str | None
    metrics_namespace: str
    queue_label_to_metric_label: dict[str, str]
    queue_label_to_default_metric_value: dict[str, str]
    min_period: float
    max_period: float
    compare_period: float
    writers: int
    volume_seconds: float
    lease_seconds: float
    renew_seconds: float
    retry_seconds: float
    resource_reservation_namespace: str
    resource_reservation_app_label: str
    resource_reservation_service_account: str
    resource_reservation_pod_image: str
    resource_reservation_pod_resources: dict[str, Any]
    resource_reservation_pod_security_context: dict[str, Any]
    resource_reservation_container_security_context: dict[str, Any]
    resource_reservation_allocation_timeout: float
    runtime_class_name: str
    fake_gpu_nodes: bool
    cdi: bool
    hami_core: bool
    params: dict[str, Any]
    shadow: bool
    shadow_patience: float
    shadow_report: str | None


def options_of(roles: Iterable[str], given: RunOptions) -> Options:
    """Raises InvalidInputError for a role, and TypeError for an option, that does not exist."""
    check_known(given, RunOptions.__annotations__, "run() has no argument", TypeError)
    return Options(roles=roles_of(roles), **given)


def roles_of(names: Iterable[str], programs: Iterable[str] = ()) -> tuple[str, ...]:
    """The roles with these names; "all" means every role. Raises InvalidInputError, which may
    suggest a role or one of `programs`."""
    names = list(names)
    for name in names:
        if name in ("true", "false"):
            hint = f"; the value of an option follows =, as in --leader-elect={name}"
            raise InvalidInputError(f"there is no role {name!r}{hint}")
        if name not in (*ROLES, ALL):
            hint = did_you_mean(name, (*ROLES, ALL, *programs))
            raise InvalidInputError(f"there is no role {name!r}{hint}")
    if ALL in names:
        return ROLES
    return tuple(role for role in ROLES if role in names)
