"""``kai settings``: the settings of an orchestrator that give its pods the right KAI request."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from kai.cli.adding import added, flag
from kai.cli.failures import DONE, print_error
from kai.cli.output import Form
from kai.engine.frozen import thawed
from kai.errors import InvalidRequestError

if TYPE_CHECKING:
    from kai.settings import PodRequest

# Arguments of PodRequest, in the order of the help. PodRequest checks their values.
_TEXTS = {
    "queue": "Queue of the pod.",
    "gpu_fraction": "Part of one GPU, such as 0.5.",
    "gpu_memory": "Memory of one GPU: MiB, or a quantity such as 5Gi.",
    "mig": "MIG profile, such as 1g.5gb.",
    "claim": "Name of a ResourceClaimTemplate (DRA).",
    "container": "Container that uses the part of a GPU.",
    "priority": "Name of a PriorityClass.",
    "preemption_delay": "Delay before the pod may preempt others, such as 5m.",
    "staleness_grace_period": "How long a gang may run below its minimum, such as 5m.",
    "topology": "Topology in which the pods are placed close together.",
    "required_level": "Topology level that the pods must share.",
    "preferred_level": "Topology level that the pods should share.",
    "platform": "Node labels of gke, eks, aks or generic.",
    "gpu_type": "GPU model, as in the platform's node label.",
    "node_pool": "Node pool of the pod.",
    "cpu": "CPU request, such as 500m.",
    "memory": "Memory request, such as 16Gi.",
    "cpu_limit": "CPU limit, such as 2.",
    "memory_limit": "Memory limit, such as 32Gi.",
    "runtime_class": "Name of a RuntimeClass.",
    "isolation": "Isolation of pods on a GPU: none, guard, hamicore, mps or nvfractions.",
    "mps_pipe_directory": "Pipe directory of the MPS daemon.",
    "scheduler_name": "Name of the KAI scheduler in the cluster.",
    "queue_label_key": "Key of the queue label.",
    "kai_version": "Installed version of KAI, such as 0.18.",
    "style": "Annotations of the request: legacy or nvfractions.",
    "compute_sharing": "time-slicing or sm-sharing (KAI 0.18).",
}
_NUMBERS = {
    "gpus": "Number of whole GPUs.",
    "devices": "Number of GPUs; the pod gets the part on each.",
    "gang_min": "Number of pods that must start together.",
    "gpu_memory_total": "Total memory of one GPU of the nodes, in MiB.",
    "headroom": "MiB that CUDA needs in addition to the framework.",
    "processes": "Number of processes that share the pod's part.",
}
_FLAGS = {
    "mps": "Share the GPU through MPS.",
    "legacy": "Use the queue label of KAI before 0.6.",
    "both": "Set both queue labels.",
    "workaround_stale_gang": "Work around a bug of KAI 0.16.2 to 0.17.0.",
}
_EITHER = {
    "preemptible": "Override the preemptibility that follows from the priority.",
    "privileged": "Whether the container is privileged.",
}
_PAIRS = {
    "env": "Environment variable of the container.",
    "label": "Label of the pod.",
    "annotation": "Annotation of the pod.",
    "node_selector": "Label that nodes must have.",
    "framework_version": "Version of a framework, such as torch=2.10.",
}
_MAPPING_OF = {"label": "labels", "annotation": "annotations",
               "framework_version": "framework_versions"}  # fmt: skip


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


_request_options = added(
    *(click.option(_flag(name), help=help) for name, help in _TEXTS.items()),
    *(click.option(_flag(name), type=int, help=help) for name, help in _NUMBERS.items()),
    click.option(
        "--toleration",
        metavar="KEY[=VALUE][:EFFECT]",
        multiple=True,
        help="Taint that the pod tolerates.",
    ),
    click.option(
        "--framework",
        multiple=True,
        help="Framework that keeps to the pod's part: torch, jax, vllm and others.",
    ),
    *(
        click.option(_flag(name), metavar="KEY=VALUE", multiple=True, help=help)
        for name, help in _PAIRS.items()
    ),
    *(flag(_flag(name), help=help) for name, help in _FLAGS.items()),
    *(
        click.option(f"{_flag(name)}/--no-{name}", default=None, help=help)
        for name, help in _EITHER.items()
    ),
)


@click.command(
    "settings",
    epilog="""\b
Examples:
  kai settings --orchestrator zenml --queue test --gpu-fraction 0.5
  kai settings --orchestrator argo --queue test --gpu-memory 5Gi --pod
  kai settings --orchestrator airflow --queue test --gpus 1 --format python
""",
)
@click.option(
    "--orchestrator",
    metavar="NAME",
    help="Orchestrator, such as zenml, kfp or ray; an unknown name lists all. Required.",
)
@click.option("-o", "--output", metavar="FORM", help="yaml, json or python [yaml].")
@click.option("--format", "old_output", hidden=True)
@flag("--json", "as_json", help="Same as -o json.")
@click.option("--pod", "shown", flag_value="pod", help="Print the resulting pod instead.")
@click.option(
    "--cluster-objects", "shown", flag_value="cluster_objects",
    help="Print the objects that an administrator must apply instead.",
)  # fmt: skip
@click.option(
    "--all",
    "shown",
    flag_value="all",
    help="Print settings, pod, placement, isolation, warnings and cluster objects.",
)
@flag("--strict", help="Fail if the orchestrator cannot express a setting.")
@click.option(
    "--set", "options", metavar="NAME=VALUE", multiple=True,
    help="Option of the orchestrator's builder; VALUE is JSON or text.",
)  # fmt: skip
@_request_options
def command(
    orchestrator: str | None,
    output: str | None,
    old_output: str | None,
    as_json: bool,
    shown: str | None,
    strict: bool,
    options: tuple[str, ...],
    **given: Any,
) -> int:
    """Print the settings that an orchestrator needs for the pods of a step or job.

    The request is checked first. Standard output has only the settings; warnings
    and settings that the orchestrator cannot express go to standard error.
    """
    from kai.integrations.registry import builder_for, orchestrator_of

    named, output = _named(orchestrator, output)
    form = _form(output or old_output, as_json=as_json)
    orchestrator = orchestrator_of(named)
    build = builder_for(orchestrator)
    words = _Words(build)
    request = _request(given, words)
    own = {name: _value(text) for name, text in _pairs("set", options).items()}
    try:
        built = build(request, as_native=False, strict=strict, **own)
    except InvalidRequestError as error:
        raise words.of(error) from None
    except TypeError as error:
        wrong = next((each for each in own if f"keyword argument '{each}'" in str(error)), None)
        if wrong is not None:
            known = ", ".join(sorted(words.own))
            hint = f"; its options are {known}" if known else ""
            raise click.UsageError(f"--set: {orchestrator} has no option {wrong}{hint}") from None
        raise
    for warning in built.warnings:
        print_error(words.said(warning))
    for each in built.unsupported:
        print_error(words.said(f"{orchestrator} cannot express {each}"))
    if built.cluster_objects and shown is None:
        count = len(built.cluster_objects)
        print_error(
            f"an administrator must apply {count} object{'s' * (count > 1)} once; see"
            " --cluster-objects"
        )
    parts = {
        "settings": built.settings,
        "pod": built.pod,
        "cluster_objects": list(built.cluster_objects),
        "placement": built.placement,
        "isolation": request.isolated_by,
        "unsupported": [asdict(each) for each in built.unsupported],
        "warnings": list(built.warnings),
    }
    _write(thawed(parts if shown == "all" else parts[shown or "settings"]), form, shown)
    return DONE


_FORMS = ("yaml", "json", "python")


def _named(orchestrator: str | None, output: str | None) -> tuple[str, str | None]:
    """The orchestrator, and the value of `-o`, which was the orchestrator before."""
    if output is not None and orchestrator is None and output not in _FORMS:
        print_error(f"-o is the output format: write --orchestrator {output}")
        return output, None
    if orchestrator is None:
        raise click.UsageError("--orchestrator is missing")
    return orchestrator, output


def _form(output: str | None, *, as_json: bool) -> str:
    if as_json and output not in (None, "json"):
        raise click.UsageError("--output and --json exclude each other: give one")
    return Form(_FORMS).convert(output or ("json" if as_json else "yaml"), None, None)


def _request(given: Mapping[str, Any], words: _Words) -> PodRequest:
    from kai.settings import PodRequest

    try:
        return PodRequest(**_arguments(given))
    except InvalidRequestError as error:
        raise words.of(error) from None


class _Words:
    """Sentences about arguments of Python, in the options of this command.

    build: its other arguments are given with --set.
    """

    def __init__(self, build: Callable[..., Any]) -> None:
        import inspect

        names = {*_TEXTS, *_NUMBERS, *_FLAGS, *_EITHER, "framework", "toleration"}
        self._options = {name: _flag(name) for name in names}
        self._options |= {_MAPPING_OF.get(name, name): _flag(name) for name in _PAIRS}
        self._options |= {"tolerations": "--toleration", "frameworks": "--framework"}
        own = set(inspect.signature(build).parameters) - {"request", "as_native", "strict"}
        self.own = own - self._options.keys()

    def of(self, error: InvalidRequestError) -> InvalidRequestError:
        return InvalidRequestError(self.said(str(error)))

    def said(self, sentence: str) -> str:
        """
        >>> _Words(lambda request, *, name=None: None).said("devices=2 needs more: write name=")
        '--devices 2 needs more: write --set name='
        """
        sentence = _ENTRY.sub(self._entry, sentence)
        sentence = _ASSIGNED.sub(self._assigned, sentence)
        sentence = _NAMED.sub(self._named, sentence)
        return sentence.replace("cluster_objects", "--cluster-objects")

    def _entry(self, found: re.Match[str]) -> str:
        """node_selector['zone']='a', framework_versions={'torch': '2.10'}"""
        option = self._options.get(found["name"])
        key, value = found["key"] or found["key2"], found["value"] or found["value2"] or "..."
        return found[0] if option is None else f"{option} {key}={value}"

    def _assigned(self, found: re.Match[str]) -> str:
        name, value = found["name"], found["value"].strip("'\"")
        if name in self.own and found.string[: found.start()].endswith("write "):
            return f"--set {name}={value}"
        option = self._options.get(name)
        if option is None:
            return found[0]
        if value in ("True", "False"):
            return option if value == "True" else f"--no-{option.removeprefix('--')}"
        return f"{option} {value}".rstrip()

    def _named(self, found: re.Match[str]) -> str:
        option = self._options.get(found["name"] or found["name2"])
        return found[0] if option is None else f"{found['before'] or ''}{option}"


_ENTRY = re.compile(
    r"\b(?P<name>[a-z_]+)(?:\['(?P<key>[^']+)'\](?:='(?P<value>[^']*)')?"
    r"|=\{'(?P<key2>[^']+)': '(?P<value2>[^']*)'\})"
)
_ASSIGNED = re.compile(r"(?<![\w.@-])(?P<name>[a-z_]+)=(?P<value>'[^']*'|\[[^]]*\]|[^\s,;:)]*)")
_NAMED = re.compile(
    r"(?P<before>^|cannot express |: )(?P<name>[a-z_]+)(?= is | '|: )|"
    r"(?P<before2>)(?<![\w.@'\"=-])(?P<name2>[a-z]+(?:_[a-z]+)+)(?![\w=.\[(])"
)


# ---- the request ---------------------------------------------------------------------------------


def _arguments(given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of PodRequest; options that were not given are left out."""
    arguments: dict[str, Any] = {}
    for name, value in given.items():
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


# ---- the output ----------------------------------------------------------------------------------


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
        """Quotes strings that kubectl would read as another type; PyYAML does not quote 1e3."""

        def ignore_aliases(self, data: Any) -> bool:
            return True

    def text(dumper: Any, value: str) -> Any:
        quoted = not isinstance(plain_scalar(value), str)
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, '"' if quoted else None)

    Dumper.add_representer(str, text)
    written: str = yaml.dump(value, Dumper=Dumper, sort_keys=False, width=100, allow_unicode=True)
    return written
