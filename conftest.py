"""Long test modules: several processes start with them, and a list shows which took long."""

from __future__ import annotations

import signal
from collections import defaultdict

import pytest
from hypothesis import HealthCheck, settings

# No test measures wall time: machines are shared.
settings.register_profile("kai", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("kai")

# A shell starts programs in the background without Ctrl-C, and the programs that tests interrupt
# would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

SLOW_S = 10.0

# The modules that take about half a minute or more, the longest first. Processes start with them,
# as one that starts last keeps its process busy alone.
LONG_MODULES = (
    "tests/docs/test_notebooks.py",
    "tests/properties/test_decisions_end.py",
    "tests/unit/service/test_refused_run.py",
    "tests/conformance/test_conformance.py",
    "tests/properties/test_settings.py",
    "tests/unit/sim/test_comparing.py",
    "tests/bench/test_openb.py",
    "tests/bench/test_openb_as_kai.py",
    "tests/properties/test_courses.py",
    "tests/properties/test_plans_keep_the_rules.py",
    "tests/properties/test_fixes.py",
    "tests/properties/test_switches_explain_differences.py",
    "tests/docs/test_examples.py",
    "tests/properties/test_events.py",
)

_seconds: defaultdict[str, float] = defaultdict(float)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):  # one of several processes
        places = {name: place for place, name in enumerate(LONG_MODULES)}
        items.sort(key=lambda item: places.get(item.nodeid.split("::")[0], len(places)))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _seconds[report.nodeid.split("::")[0]] += report.duration


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    slow = sorted((-each, name) for name, each in _seconds.items() if each >= SLOW_S)
    if slow:
        terminalreporter.section(f"modules over {SLOW_S:.0f} s")
        for seconds, name in slow:
            terminalreporter.write_line(f"{-seconds:6.0f} s  {name}")
