"""``kai settings``: what to write in an orchestrator so that its pods ask KAI for what is meant."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import click

from kai.cli.failures import DONE, say

Command = TypeVar("Command", bound=Callable[..., object])

# Arguments of PodRequest, in the order in which help shows them. Their rules are not repeated here.
_TEXTS = {
    "queue": "Queue of the pod.",
    "gpu_fraction": "Part of a GPU, such as 0.5.",
    "gpu_memory": "Memory of a GPU: MiB, or such as 5Gi.",
    "mig": "MIG profile, such as 1g.5gb.",
    "claim": "ResourceClaimTemplate (DRA).",
    "container": "Container that gets the part of a GPU.",
    "priority": "PriorityClass.",
    "preemption_delay": "Such as 5m.",
    "staleness_grace_period": "Such as 5m.",
    "topology": "Topology to keep the pods together in.",
    "required_level": "Level that they have to share.",
    "preferred_level": "Level that they had better share.",
    "platform": "gke, eks, aks or generic: how nodes are labelled.",
    "gpu_type": "GPU model, as the platform labels it.",
    "node_pool": "Pool of nodes.",
    "cpu": "Such as 500m.",
    "memory": "Such as 16Gi.",
    "cpu_limit": "Such as 2.",
    "memory_limit": "Such as 32Gi.",
    "runtime_class": "RuntimeClass.",
    "isolation": "none, hamicore, mps or nvfractions.",
    "mps_pipe_directory": "Of the MPS daemon.",
    "scheduler_name": "Of KAI in the cluster.",
    "queue_label_key": "Of the queue label.",
    "kai_version": "That is installed, such as 0.18.",
    "style": "legacy or nvfractions.",
    "compute_sharing": "time-slicing or sm-sharing (KAI 0.18).",
}
_NUMBERS = {
    "gpus": "Whole GPUs.",
    "devices": "GPUs of which each gives the part.",
    "gang_min": "Pods that start together.",
    "gpu_memory_total": "MiB of one GPU of the nodes.",
    "headroom": "MiB that CUDA takes beside the framework.",
    "processes": "That share the pod's part.",
}
_FLAGS = {
    "mps": "The part of a GPU is by MPS.",
    "legacy": "The queue label of KAI before 0.6.",
    "both": "Both queue labels.",
    "workaround_stale_gang": "For KAI 0.16.2 to 0.17.0.",
}
_EITHER = {
    "preemptible": "Overrule what the priority says.",
    "privileged": "Of the container.",
}
_PAIRS = {
    "env": "Variable of the container.",
    "label": "Label of the pod.",
    "annotation": "Annotation of the pod.",
    "node_selector": "Label that nodes must have.",
    "framework_version": "Such as torch=2.10.",
}
_MAPPING_OF = {"label": "labels", "annotation": "annotations",
               "framework_version": "framework_versions"}  # fmt: skip


def _request_options(command: Command) -> Command:
    options = [click.option(_flag(name), help=told) for name, told in _TEXTS.items()]
    options += [click.option(_flag(name), type=int, help=told) for name, told in _NUMBERS.items()]
    options += [
        click.option(
            "--toleration",
            metavar="KEY[=VALUE][:EFFECT]",
            multiple=True,
            help="Taint that the pod tolerates.",
        ),
        click.option(
            "--framework", multiple=True, help="torch, jax, vllm ...: to be told its part."
        ),
    ]
    options += [
        click.option(_flag(name), metavar="KEY=VALUE", multiple=True, help=told)
        for name, told in _PAIRS.items()
    ]
    options += [click.option(_flag(name), is_flag=True, help=told) for name, told in _FLAGS.items()]
    options += [
        click.option(f"{_flag(name)}/--no-{name}", default=None, help=told)
        for name, told in _EITHER.items()
    ]
    for option in reversed(options):
        command = option(command)
    return command


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


@click.command(
    "settings",
    epilog="""\b
Examples:
  kai settings --orchestrator zenml --queue test --gpu-fraction 0.5
  kai settings --orchestrator argo --queue test --gpu-memory 5Gi --pod
  kai settings --orchestrator airflow --queue test --gpus 1 --format python
""",
)
@click.option("-o", "--orchestrator", metavar="NAME", required=True, help="zenml, kfp, ray ...")
@click.option(
    "--format", "form", type=click.Choice(("yaml", "json", "python")), default="yaml",
    show_default=True, help="Of the answer.",
)  # fmt: skip
@click.option("--pod", "shown", flag_value="pod", help="Show the pod that comes of it instead.")
@click.option(
    "--cluster-objects", "shown", flag_value="cluster_objects",
    help="Show what an administrator has to apply instead.",
)  # fmt: skip
@click.option("--all", "shown", flag_value="all", help="Show all that is known of the answer.")
@click.option("--strict", is_flag=True, help="Fail for what the orchestrator cannot express.")
@click.option(
    "--set", "options", metavar="NAME=VALUE", multiple=True,
    help="Option of the orchestrator's builder; VALUE is JSON, or else a text.",
)  # fmt: skip
@_request_options
def command(
    orchestrator: str,
    form: str,
    shown: str | None,
    strict: bool,
    options: tuple[str, ...],
    **asked: Any,
) -> int:
    """Write what an orchestrator has to be told for the pods of a step or job.

    What is asked for is checked first. Warnings, and what the orchestrator
    cannot express, go to standard error; the settings alone to standard output.
    """
    from kai.integrations.registry import builder_for
    from kai.settings import PodRequest

    request = PodRequest(**_arguments(asked))
    build = builder_for(orchestrator)
    own = {name: _value(text) for name, text in _pairs("set", options).items()}
    try:
        built = build(request, as_native=False, strict=strict, **own)
    except TypeError as error:
        if own and "keyword argument" in str(error):
            raise click.UsageError(f"--set: {error}") from None
        raise
    for warning in built.warnings:
        say(warning)
    for each in built.unsupported:
        say(f"{orchestrator} cannot express {each}")
    if built.cluster_objects and shown is None:
        count = len(built.cluster_objects)
        say(
            f"an administrator has to apply {count} object{'s' * (count > 1)} once; see"
            " --cluster-objects"
        )
    parts = {
        "settings": built.settings,
        "pod": built.pod,
        "cluster_objects": list(built.cluster_objects),
        "placement": built.placement,
        "unsupported": [
            {"setting": each.setting, "reason": each.reason, "workaround": each.workaround}
            for each in built.unsupported
        ],
        "warnings": list(built.warnings),
    }
    _write(_plain(parts if shown == "all" else parts[shown or "settings"]), form, shown)
    return DONE


# ---- what was asked for --------------------------------------------------------------------------


def _arguments(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of PodRequest; those that were not given are left to it."""
    arguments: dict[str, Any] = {}
    for name, value in asked.items():
        if value is None or (value is False and name in _FLAGS) or value == ():
            continue
        if name in _PAIRS:
            arguments[_MAPPING_OF.get(name, name)] = _pairs(name, value)
        elif name == "toleration":
            arguments["tolerations"] = [_toleration(each) for each in value]
        else:
            arguments[name] = value
    return arguments


def _pairs(name: str, texts: Iterable[str]) -> dict[str, str]:
    pairs = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise click.UsageError(f"{_flag(name)} {text!r}: write it as KEY=VALUE")
        pairs[key] = value
    return pairs


def _toleration(text: str) -> dict[str, str]:
    rest, _, effect = text.partition(":")
    key, equals, value = rest.partition("=")
    if not key:
        raise click.UsageError(f"--toleration {text!r}: write it as KEY[=VALUE][:EFFECT]")
    toleration = {"key": key, "operator": "Equal" if equals else "Exists"}
    if equals:
        toleration["value"] = value
    if effect:
        toleration["effect"] = effect
    return toleration


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


# ---- the answer ----------------------------------------------------------------------------------


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value


def _write(value: Any, form: str, shown: str | None) -> None:
    if form == "json":
        click.echo(json.dumps(value, indent=2))
    elif form == "python":
        from pprint import pformat

        click.echo(pformat(value, sort_dicts=False, width=100))
    elif shown == "cluster_objects":
        click.echo("---\n".join(_yaml(each) for each in value), nl=False)
    else:
        click.echo(_yaml(value), nl=False)


def _yaml(value: Any) -> str:
    import yaml

    from kai.api.documents import plain_scalar

    class Dumper(yaml.SafeDumper):
        """Quotes what kubectl would take for something else than a text; PyYAML leaves 1e3 bare."""

        def ignore_aliases(self, data: Any) -> bool:
            return True

    def text(dumper: Any, value: str) -> Any:
        quoted = not isinstance(plain_scalar(value), str)
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, '"' if quoted else None)

    Dumper.add_representer(str, text)
    written: str = yaml.dump(value, Dumper=Dumper, sort_keys=False, width=100, allow_unicode=True)
    return written
