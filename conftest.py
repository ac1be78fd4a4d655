"""Lists the test modules that took long."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import HealthCheck, settings

# No test measures wall time: machines are shared.
settings.register_profile("kai", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("kai")

SLOW_S = 10.0

_seconds: defaultdict[str, float] = defaultdict(float)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _seconds[report.nodeid.split("::")[0]] += report.duration


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    slow = sorted((-each, name) for name, each in _seconds.items() if each >= SLOW_S)
    if slow:
        terminalreporter.section(f"modules over {SLOW_S:.0f} s")
        for seconds, name in slow:
            terminalreporter.write_line(f"{-seconds:6.0f} s  {name}")
