"""Every exception is kai's own, with the expected base class."""

import inspect

import pytest

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


def test_each_docstring_names_the_calls_that_raise_it() -> None:
    for error in vars(errors).values():
        if inspect.isclass(error) and error is not errors.KaiError:
            assert "Raised by" in (error.__doc__ or ""), error
