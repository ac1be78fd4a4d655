"""Every exception is kai's own, with the expected base class."""

import inspect

import pytest

import kai
from kai import errors


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (errors.InvalidInputError, ValueError),
        (errors.InvalidClusterError, ValueError),
        (errors.InvalidConfigError, ValueError),
        (errors.BusyError, RuntimeError),
        (errors.NotFoundError, LookupError),
        (errors.UnreachableError, ConnectionError),
        (errors.RefusedError, PermissionError),
    ],
)
def test_each_error_is_also_a_built_in_exception(
    error: type[Exception], builtin: type[Exception]
) -> None:
    assert issubclass(error, errors.KaiError)
    assert issubclass(error, builtin)


@pytest.mark.parametrize("name", ["a\nb", "a\r\nb", "a\u2028b"])
def test_an_error_with_a_line_break_in_a_given_name_is_one_line(name: str) -> None:
    cluster = kai.Cluster().queue("v").node("n1", gpus=1)
    for call in (
        lambda: kai.load(name),
        lambda: kai.Side(config=name) and kai.compare(None, None, workload=name),
        lambda: cluster.update_queue("v", gpu_limit=name),
        lambda: cluster.drain(name),
        lambda: kai.sweep({name: [1]}, "missing.yaml"),
    ):
        with pytest.raises(errors.KaiError) as raised:
            call()
        assert len(str(raised.value).splitlines()) == 1


def test_each_docstring_names_the_calls_that_raise_it() -> None:
    for error in vars(errors).values():
        if inspect.isclass(error) and error is not errors.KaiError:
            assert "Raised by" in (error.__doc__ or ""), error
