"""Every situation in this folder, run through the engine in both modes."""

from pathlib import Path

import pytest

from kai.verify import Case, Engine, read_cases, run
from kai.verify.report import sentences

SCENARIOS = read_cases([Path(__file__).parent])


@pytest.fixture(scope="module", params=[True, False], ids=["as-kai", "default"])
def engine(request: pytest.FixtureRequest) -> Engine:
    return Engine(as_kai=request.param)


@pytest.mark.parametrize("case", SCENARIOS, ids=lambda case: case.id)
def test_scenario(case: Case, engine: Engine) -> None:
    result = run(case, engine)
    assert result.verdict == "agree", "\n".join(sentences(result))


def test_every_scenario_has_a_unique_name_and_cites_its_rules() -> None:
    names = [case.id for case in SCENARIOS]
    assert len(names) == len(set(names))
    assert [case.id for case in SCENARIOS if not case.data.rules] == []
