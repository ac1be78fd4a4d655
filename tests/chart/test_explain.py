"""The value explain.enabled: the Service, its rights, and the option of the program that plans."""

import pytest
from rendering import Chart, Rendered

from kai.live.asking import SERVICE


def explains(made: Rendered) -> bool:
    """Whether all parts are there; fails if only some of them are."""
    programs = [each for each in made.of_kind("Deployment") if "--explain-address" in str(each)]
    ports = [each for each in made.of_kind("Deployment") if "'name': 'explain'" in str(each)]
    objects = [each for each in made.objects if each["metadata"]["name"].endswith(SERVICE)]
    assert len(programs) == len(ports)
    assert (len(programs), len(objects)) in ((0, 0), (1, 5))
    return bool(programs)


@pytest.mark.parametrize("topology", ["together", "split"])
def test_it_is_on_unless_it_is_switched_off(chart: Chart, topology: str) -> None:
    assert explains(chart.render({"topology": topology}))
    assert not explains(chart.render({"topology": topology, "explain": {"enabled": False}}))


@pytest.mark.parametrize("topology", ["together", "split"])
def test_without_the_scheduler_nothing_explains(chart: Chart, topology: str) -> None:
    assert not explains(chart.render({"topology": topology, "scheduler": {"enabled": False}}))
