"""Does this scheduler decide as it should? Cases with known answers, run and compared.

    from kai.verify import Engine, Report, read_cases, verify

    engine = Engine(as_kai=True)
    report = Report.of(verify(read_cases(["cases/"]), engine), as_kai=True)
    report.areas["cases/allocate"].agree

``kai verify`` is this on the command line. The comparison, the state a case demands and the check
of a plan are their own modules (`compare`, `expect`, `validate` with `evictions` and `reclaim`) and
read the raw objects; none of them shares code with the engine.
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
