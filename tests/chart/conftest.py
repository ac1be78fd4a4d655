"""Tests of the Helm chart that need Helm. It is built from Go modules at the first use; without Go,
one line gives the reason, and the tests are skipped."""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "cluster"), str(HERE.parents[1] / "tools")]

from rendering import Chart  # noqa: E402
from testcluster import UnavailableError  # noqa: E402
from testcluster import programs as programs_of_clusters  # noqa: E402


@pytest.fixture(scope="session")
def chart(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Chart:
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():  # a build takes a minute and shows its progress
        try:
            helm = programs_of_clusters.helm()
        except UnavailableError as error:
            pytest.skip(str(error))
    return Chart.copied(helm, tmp_path_factory.mktemp("chart"))
