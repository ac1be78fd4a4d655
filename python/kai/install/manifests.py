"""The output of `kai install`, in the order in which it must be applied."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from kai.api import defaults, keys
from kai.api.resources import new_object
from kai.install import access, admission, explaining, policies, running

NAMESPACE = "kai-scheduler"
KAIS_NAMES: Mapping[str, str] = {
    "scheduler": "kai-scheduler-default",
    "binder": "binder",
    "pod-grouper": "pod-grouper",
    "pod-group-controller": "podgroup-controller",
    "queue-controller": "queue-controller",
}
"""The names of KAI's Deployments, by role (spec 6 C1); the Helm chart uses them."""
_NO_NAMES: Mapping[str, str] = {}
_FILES = (
    "queues", "podgroups", "bindrequests", "configs", "schedulingshards", "topologies",
)  # fmt: skip
# From KAI's chart: uninstalling and Argo CD keep the queues (spec 5 A64).
_KEPT = {"argocd.argoproj.io/sync-options": "Prune=false", "helm.sh/resource-policy": "keep"}


@dataclass(frozen=True, slots=True)
class Guard:
    """Which pods that share a GPU get the guard: all (`shares`), those that choose it (`chosen`),
    or none. `required`, `mps_threads`: as of `kai run admission`."""

    shares: bool = False
    chosen: bool = False
    required: bool = False
    mps_threads: bool = False

    def options(self, image: str) -> list[str]:
        """Of `kai run admission`, as the chart's values of these names give them."""
        if not (self.shares or self.chosen):
            return []
        flags = {
            "--no-guard-shares": not self.shares,
            "--guard-required": self.required,
            "--guard-mps-threads": self.mps_threads,
        }
        return [f"--guard-image={image}", *(name for name, is_given in flags.items() if is_given)]


_NO_GUARD = Guard()


def crds() -> list[dict[str, Any]]:
    """The six CustomResourceDefinitions, equal to KAI's (spec 5 A1)."""
    import yaml

    folder = files("kai.install") / "crds"
    texts = [(folder / f"{name}.yaml").read_text(encoding="utf-8") for name in _FILES]
    return [yaml.safe_load(text) for text in texts]


def priority_classes() -> list[dict[str, Any]]:
    """The four priority classes of KAI's chart (spec 5 A65)."""
    return [
        new_object("PriorityClass", {"name": name}, value=value)
        for name, value in defaults.PRIORITIES.items()
    ]


def queues() -> list[dict[str, Any]]:
    """The default queue and its parent (spec 5 A64)."""
    return [
        new_object(
            "Queue",
            {"name": queue["metadata"]["name"], "annotations": dict(_KEPT)},
            spec=queue["spec"],
        )
        for queue in defaults.queues()
    ]


def everything(
    *,
    namespace: str = NAMESPACE,
    image: str = "",
    separate: bool = False,
    programs: bool = True,
    numa_exporter: bool = False,
    gpu_auditor: bool = False,
    guard: Guard = _NO_GUARD,
    config: str = "",
    webhooks: bool = True,
    names: Mapping[str, str] = _NO_NAMES,
) -> list[dict[str, Any]]:
    """CRDs, queues, priority classes, the namespace of reservation pods, rights and, with
    `programs`, Deployments with their disruption budgets.

    `separate`: a Deployment and a service account for each role, instead of one for all roles.
    `image`: "" means the image of this version. `numa_exporter`, `gpu_auditor`: add its DaemonSet
    and rights. `guard`: in pods that share a GPU, by the webhooks.
    `config`: a scheduler configuration as YAML, for the roles that plan. `webhooks`: the program of
    the webhooks; without it, policies of the API server check new objects. `names`: of Deployments
    and service accounts by role; the others have those of `account_of`.
    """
    roles = access.ROLES if separate else (access.ALL,)
    accounts = {role: names.get(role) or account_of(role) for role in roles}
    made = [*crds(), running.namespace(namespace), *priority_classes(), *queues()]
    made += reservation_objects()
    for role, name in accounts.items():
        made += access.objects(role, name, namespace)
    named = [
        *accounts.values(),
        *([account_of(admission.ADMISSION)] if programs and webhooks else ()),
    ]
    made += running.flow_schemas(named, namespace)
    if programs:
        image = image or default_image()
        made += [running.config_map(namespace, config)] if config else []
        for role, name in accounts.items():
            made += running.program(role, name, namespace, image, config)
            if role in explaining.ROLES:
                made += explaining.objects(role, name, namespace)
    if not webhooks:
        made += policies.objects()
    elif programs:
        name = account_of(admission.ADMISSION)
        made += access.objects(admission.ADMISSION, name, namespace)
        # Sharing GPUs is a matter of the pods here; the chart can forbid it, as KAI's does.
        options = ("--gpu-sharing-enabled", *guard.options(image))
        made += admission.objects(name, namespace, image, options)
    if programs and numa_exporter:
        name = account_of(running.NUMA_EXPORTER)
        made += access.objects(running.NUMA_EXPORTER, name, namespace)
        made.append(running.numa_exporter(name, namespace, image))
    if programs and gpu_auditor:
        name = account_of(running.GPU_AUDITOR)
        made += access.objects(running.GPU_AUDITOR, name, namespace)
        made.append(running.gpu_auditor(name, namespace, image))
    return made


def reservation_objects(
    account: str = keys.RESERVATION, namespace: str = keys.RESERVATION
) -> list[dict[str, Any]]:
    """The namespace of reservation pods, which uninstalling keeps, and their account."""
    return [
        running.namespace(namespace, _KEPT),
        *access.reservation_account(account, namespace),
    ]


def account_of(role: str) -> str:
    """The name of the service account and of the Deployment of a role."""
    return "kai" if role == access.ALL else f"kai-{role}"


def default_image() -> str:
    """The image of this version of kai."""
    from kai import __version__

    return f"kai-sched:{__version__}"


def to_yaml(objects: Sequence[dict[str, Any]]) -> str:
    """One YAML document per object, without aliases."""
    import yaml

    return yaml.dump_all(objects, Dumper=_dumper(), sort_keys=False, width=100)


def list_yaml(values: Sequence[Any]) -> str:
    """One YAML list, without aliases."""
    import yaml

    return str(yaml.dump(list(values), Dumper=_dumper(), sort_keys=False, width=100))


def _dumper() -> Any:
    import yaml

    class Dumper(yaml.SafeDumper):
        def ignore_aliases(self, data: Any) -> bool:
            return True

    return Dumper


def to_json(objects: Sequence[dict[str, Any]]) -> str:
    """One List, which kubectl also accepts."""
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}, indent=2)
