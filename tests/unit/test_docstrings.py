"""The docstring of every public function names the exceptions of kai that it can raise.

They are found in the source: exceptions that a function raises itself, and those of functions that
it calls by name. Three kinds of calls are not seen: those of the compiled module, of methods on
objects other than `self`, and of functions that are stored in tables or passed on. An exception
counts as caught if a handler around it names its class or a base. So the check finds too few rather
than too many. Whether a docstring explains *when* something is raised is for a reader to judge.

A docstring may name a base class, such as InvalidInputError for InvalidClusterError; exceptions in
the docstring of a class count for its methods.
"""

import ast
import builtins
import inspect
import textwrap
from collections.abc import Iterable, Iterator
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any

import pytest

import kai
from kai.api import rules
from kai.api.naming import naming
from kai.errors import InvalidInputError, InvalidRequestError, KaiError, NotFoundError

# Their __all__; without one, all that they define.
MODULES = (
    *("api.gpu_memory", "grouping", "integrations", "integrations.cluster_objects"),
    *("integrations.convert", "linting", "queues", "runtime", "settings", "sim.generators"),
    *("sim.comparing", "sim.comparing.measures", "sim.comparing.worlds", "sim.difference"),
    *("sim.page", "sim.perfetto", "sim.plot", "sim.series", "sim.traces", "sim.variants"),
    *("sim.workload", "sim.world"),
    *("snapshot", "terraform", "verify"),
    *(f"integrations.{module}" for module in kai.integrations.ORCHESTRATORS.values()),
)


class Reader:
    """The exceptions that one function can raise, from its source."""

    known: dict[FunctionType, set[type]] = {}  # noqa: RUF012 # a cache

    def __init__(self, function: FunctionType) -> None:
        # The source is that of the function inside a decorator, and so are its names.
        self.names = {**vars(builtins), **inspect.unwrap(function).__globals__}
        holder = function.__qualname__.rpartition(".")[0]
        self.names["self"] = self.names["cls"] = self.names.get(holder)
        self.found = self.known[function] = set[type]()
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module not in (None, "kai"):
                module = import_module(node.module or "")
                self.names |= {each.name: getattr(module, each.name, None) for each in node.names}
        self.read(tree, ())

    def read(self, node: ast.AST, caught: tuple[type, ...]) -> None:
        if isinstance(node, ast.Try):
            handled = [
                kind
                for handler in node.handlers
                if not any(isinstance(e, ast.Raise) and not e.exc for e in ast.walk(handler))
                for kind in self.classes(handler.type)
            ]
            for part in node.body:
                self.read(part, (*caught, *handled))
            for part in (*node.handlers, *node.orelse, *node.finalbody):
                self.read(part, caught)
            return
        raised: Iterable[Any] = ()
        if isinstance(node, ast.With) and (kind := self.named_by(node)):
            for part in node.body:
                self.read(part, (*caught, InvalidInputError, kind))
            raised = [kind]
            node = ast.Tuple([each.context_expr for each in node.items])
        if isinstance(node, ast.Raise) and node.exc is not None:
            raised = [self.made(node.exc.func if isinstance(node.exc, ast.Call) else node.exc)]
        elif isinstance(node, ast.Call):
            raised = raised_by(self.value(node.func))
        self.found.update(
            each
            for each in raised
            if isinstance(each, type)
            and issubclass(each, KaiError)
            and not issubclass(each, caught)
        )
        for inner in ast.iter_child_nodes(node):
            self.read(inner, caught)

    def named_by(self, node: ast.With) -> type | None:
        """The class of the exceptions that leave a block with `naming`."""
        for each in (item.context_expr for item in node.items):
            if isinstance(each, ast.Call) and self.value(each.func) is naming:
                return self.classes(each.args[1])[0] if each.args[1:] else InvalidInputError
        return None

    def classes(self, node: ast.expr | None) -> list[type]:
        parts = node.elts if isinstance(node, ast.Tuple) else [node] if node else []
        return [kind for part in parts if isinstance(kind := self.value(part), type)]

    def made(self, node: ast.expr) -> Any:
        """The exception that is raised, or that a function such as `rules.refuse` returns."""
        value = self.value(node)
        if not isinstance(value, FunctionType):
            return value
        return value.__globals__.get(str(value.__annotations__.get("return")))

    def value(self, node: ast.expr) -> Any:
        """The value of a name, as far as it is known without running the code."""
        if isinstance(node, ast.Attribute):
            holder = self.value(node.value)
            known = isinstance(holder, (ModuleType, type))
            return function_of(inspect.getattr_static(holder, node.attr, None)) if known else None
        return self.names.get(node.id) if isinstance(node, ast.Name) else None


def function_of(member: Any) -> Any:
    member = member.fget if isinstance(member, property) else member
    return inspect.unwrap(getattr(member, "__func__", member))


def raised_by(called: Any) -> set[type]:
    """The exceptions of kai that a function, or the creation of an object, can raise."""
    if isinstance(called, type) and called.__module__.startswith(("kai.", __name__)):
        makers = (vars(called).get(name) for name in ("__init__", "__post_init__"))
        return {error for each in makers for error in raised_by(each)}
    if not isinstance(called, FunctionType) or called.__code__.co_filename.startswith("<"):
        return set()  # in another language, or generated by `dataclass`
    if not str(called.__module__).startswith(("kai.", __name__)):
        return set()  # other libraries do not know them
    if called not in Reader.known:
        Reader(called)
    return Reader.known[called]


def unnamed(function: Any) -> list[str]:
    """The exceptions that are neither in its docstring nor, for a method, in that of its class."""
    doc, holder = function.__doc__ or "", function.__qualname__.rpartition(".")[0]
    of_class = (vars(import_module(function.__module__)).get(holder)).__doc__ if holder else ""
    return sorted(
        error.__name__
        for error in raised_by(function)
        if error.__name__ not in (of_class or "")
        and not any(base.__name__ in doc for base in error.__mro__ if issubclass(base, KaiError))
    )


def public_functions() -> Iterator[Any]:
    named = [getattr(kai, name) for name in kai.__all__]
    for name in MODULES:
        module = import_module(f"kai.{name}")
        listed = getattr(module, "__all__", None) or [
            name
            for name, value in vars(module).items()
            if not name.startswith("_") and getattr(value, "__module__", "") == module.__name__
        ]
        named += [getattr(module, each) for each in listed]
    for each in named:
        yield each
        if isinstance(each, type):
            members = vars(each).items()
            yield from (function_of(member) for name, member in members if not name.startswith("_"))


FUNCTIONS = {
    f"{each.__module__}.{each.__qualname__}": each
    for each in public_functions()
    if isinstance(each, (FunctionType, type))
}


EXCEPT = {
    "kai.engine.cluster.Cluster.default_queues",  # adds two queues that are always valid
    "kai.engine.config.default_config",  # reads a valid configuration
    "kai.service.run",  # looks up kinds in the table
}


def test_every_public_function_names_what_it_raises() -> None:
    lacking = {name: errors for name, each in FUNCTIONS.items() if (errors := unnamed(each))}
    assert {name: errors for name, errors in lacking.items() if name not in EXCEPT} == {}


def test_most_public_functions_are_checked() -> None:
    assert {"kai.snapshot.load", "kai.engine.scheduler.Scheduler.plan"} < FUNCTIONS.keys()
    assert len(FUNCTIONS) > 200


# ---- what the check sees -------------------------------------------------------------------------


def refuses(value: object) -> None:
    if value is None:
        raise InvalidInputError("no value")


def looks_up() -> None:
    raise NotFoundError


def documented() -> None:
    """Raises InvalidInputError for missing input, and NotFoundError for an unknown name."""
    refuses(None)
    looks_up()


def hands_on(value: object) -> None:
    try:
        refuses(value)
        rules.count("value", value)
    except (InvalidInputError, ValueError):
        looks_up()


def raises_again() -> None:
    try:
        refuses(1)
    except InvalidInputError:
        raise


def names_the_option(value: object) -> None:
    with naming("--value", NotFoundError):
        refuses(value)


class Holder:
    def __init__(self) -> None:
        self.check()

    def check(self) -> None:
        raise rules.refuse("never")


def makes_a_holder() -> Holder:
    return Holder()


@pytest.mark.parametrize(
    ("function", "errors"),
    [
        (refuses, ["InvalidInputError"]),
        (documented, []),
        (hands_on, ["NotFoundError"]),
        (raises_again, ["InvalidInputError"]),
        (names_the_option, ["NotFoundError"]),
        (makes_a_holder, ["InvalidRequestError"]),
    ],
)
def test_raises_are_found_along_calls(function: Any, errors: list[str]) -> None:
    assert unnamed(function) == errors
    assert {error.__name__ for error in raised_by(function)} >= set(errors)


def test_the_exceptions_of_a_handled_call_are_not_raised() -> None:
    assert raised_by(hands_on) == {NotFoundError}
    assert raised_by(rules.count) == {InvalidRequestError}
