"""The commands of Helm on the pages about installation: Helm accepts all values, and each has its
effect."""

import re
import shlex
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from rendering import Chart, Object, Rendered

from kai.admission import fields
from kai.admission.pods import pods_in

HOWTO = Path(__file__).parents[2] / "docs/howto"
BLOCK = re.compile(r"^```console[a-z ]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
OURS = "charts/kai-sched"


def commands(page: Path) -> Iterator[list[str]]:
    """The words of each command that installs the chart, or upgrades it."""
    for block in BLOCK.findall(page.read_text().replace("\\\n", " ")):
        for line in re.findall(r"^\$ (helm (?:install|upgrade) .*)", block, re.MULTILINE):
            words = shlex.split(line, comments=True)
            if OURS in words:
                yield words


def settings(words: list[str]) -> list[str]:
    """The arguments of a command that set values, with a name in the place of PROJECT: paths of
    images have no capital letters."""
    found = [each for flag, value in pairwise(words) if flag == "--set" for each in (flag, value)]
    return [each.replace("PROJECT", "a-project") for each in found]


COMMANDS = [
    pytest.param(settings(words), id=f"{page.stem}-{number}")
    for page in sorted(HOWTO.glob("*.md"))
    for number, words in enumerate(commands(page))
]


@pytest.mark.parametrize("chosen", COMMANDS)
def test_a_command_renders_and_all_its_values_have_an_effect(
    chart: Chart, chosen: list[str]
) -> None:
    made = chart.render({}, *chosen)
    assert "no effect" not in made.notes
    for manifest in made.objects:
        assert list(fields.of_manifest(manifest, pods_in(manifest))) == []


def of_page(chart: Chart, name: str) -> list[Rendered]:
    return [chart.render({}, *settings(words)) for words in commands(HOWTO / f"install-{name}.md")]


def options(made: Rendered) -> set[str]:
    return set(made.container("Deployment", "kai")["args"])


def webhooks(made: Rendered) -> set[str]:
    return set(made.container("Deployment", "kai-admission")["args"])


def images(made: Rendered) -> set[str]:
    return {each["image"] for pod in made.pods() for each in pod["containers"]}


def quotas(made: Rendered) -> list[Object]:
    return made.of_kind("ResourceQuota")


def test_kind(chart: Chart) -> None:
    simulated, real = of_page(chart, "kind")
    assert "--fake-gpu-nodes" in options(simulated)
    assert "--gpu-fraction-runtime-class-name=" in webhooks(simulated)
    assert images(simulated) == {"kai-sched:0.1.0"}  # as `make image` names it
    assert "--cdi" not in options(simulated)
    assert "--cdi" in options(real)


def test_gke(chart: Chart) -> None:
    (made,) = of_page(chart, "gke")
    assert "--cdi" in options(made)
    assert images(made) == {"us-central1-docker.pkg.dev/a-project/kai/kai-sched:0.1.0"}
    deployments = made.of_kind("Deployment")
    classes = {each["spec"]["template"]["spec"]["priorityClassName"] for each in deployments}
    assert classes == {"system-cluster-critical"}
    (quota,) = quotas(made)
    assert "system-cluster-critical" in str(quota["spec"]["scopeSelector"])


def test_eks(chart: Chart) -> None:
    operator, plugin = of_page(chart, "eks")
    assert "--cdi" in options(operator)
    assert "--cdi" not in options(plugin)
    assert quotas(operator) == quotas(plugin) == []


def test_bare_metal(chart: Chart) -> None:
    operator, k3s = of_page(chart, "bare-metal")
    assert "--cdi" in options(operator)
    assert "--runtime-class-name=nvidia" not in options(operator)
    assert "--cdi" not in options(k3s)
    assert "--runtime-class-name=nvidia" in options(k3s)


def test_commands_over_several_lines_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```console notest\n$ ls\n$ helm upgrade --install a charts/kai-sched -n b \\\n"
        '    --set "x.y={--z}" --set u=    # why\nhelm\n$ helm install other other/chart\n```\n'
    )
    (words,) = commands(page)
    assert settings(words) == ["--set", "x.y={--z}", "--set", "u="]
