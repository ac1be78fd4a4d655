"""Runs cases with known answers and compares the decisions of this scheduler with them.

    from kai.verify import Engine, Report, read_cases, verify

    engine = Engine(as_kai=True)
    report = Report.of(verify(read_cases(["cases/"]), engine), as_kai=True)
    report.areas["cases/allocate"].agree

``kai verify`` does this on the command line. `compare` compares decisions, `expect` checks the
state that a case requires, and `validate` checks a plan, with `evictions` and `reclaim`. These
modules read the raw objects and share no code with the engine.
"""

from kai.verify.cases import Case, CaseError, default_cases, find_cases, in_area, read_cases
from kai.verify.compare import Difference
from kai.verify.report import Area, Report
from kai.verify.runner import Engine, Planner, Result, run, verify
from kai.verify.validate import Violation, validate

__all__ = [
    "Area",
    "Case",
    "CaseError",
    "Difference",
    "Engine",
    "Planner",
    "Report",
    "Result",
    "Violation",
    "default_cases",
    "find_cases",
    "in_area",
    "read_cases",
    "run",
    "validate",
    "verify",
]
