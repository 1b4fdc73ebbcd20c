"""Parameters as data: the default, rule and meaning of each in one place.

A class whose parameters are written this way gets its constructor, its checks and its documentation
from `documented`:

    n_init: int = whole(10, "Starts; the best is kept.", low=1)

Parameters without such a text are documented in the docstring of the class.
"""

import dataclasses
import inspect
import textwrap
import warnings
from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import Any, dataclass_transform

import numpy as np

from smdeclust.exceptions import InvalidInputError
from smdeclust.structure.pairs import check_number

# The value of a parameter under its former name, if that name is not used.
DEPRECATED = "deprecated"

Check = Callable[[str, Any], None]  # raises an error that names the parameter


def anything(
    default: Any, doc: str = "", check: Check | None = None, *, new: str = "", **options: Any
) -> Any:
    """A parameter, with a check if it has one; `new` is its current name if it was renamed."""
    about = {"doc": doc, "check": check, "new": new}
    return dataclasses.field(default=default, metadata=about, **options)


def number(default: Any, doc: str = "", *, optional: bool = False, **rule: Any) -> Any:
    """A number that `check_number` accepts; also None, if that is the default or `optional`."""
    rule["optional"] = optional or default is None
    return anything(default, doc, lambda name, value: check_number(name, value, **rule))


whole = partial(number, whole=True)


def choice(default: str, options: Iterable[str], doc: str = "") -> Any:
    """One of some words."""
    words = tuple(options)
    return anything(default, doc, lambda name, value: check_choice(name, value, words))


def flag(default: bool, doc: str = "") -> Any:
    """True or False."""
    return anything(default, doc, check_flag)


def former(new: str) -> Any:
    """The former name of the parameter `new`."""
    return anything(DEPRECATED, f"Deprecated: the former name of `{new}`.", new=new)


@dataclass_transform(kw_only_default=True)
def documented(of: Any = None, *, frozen: bool = False, former: Iterable[str] = ()) -> Any:
    """Give a class its constructor and the sections of its docstring.

    With `frozen`, it is an immutable value; otherwise, equality and representation are those of
    scikit-learn. `former` contains the names of parameters that have moved elsewhere.
    """
    if of is None:
        return lambda later: documented(later, frozen=frozen, former=former)
    for name in former:
        of.__annotations__[name] = Any
        setattr(of, name, DEPRECATED)
    # The constructor of an estimator only stores.
    made: Any = dataclasses.dataclass(eq=frozen, repr=False, kw_only=True, frozen=frozen)(of)
    attributes: dict[str, str] = {}
    for base in reversed(made.__mro__):
        attributes |= vars(base).get("_attributes", {})
    parameters = {
        f.name: f.metadata["doc"] for f in dataclasses.fields(made) if f.metadata.get("doc")
    }
    text = inspect.cleandoc(made.__doc__ or "")
    for title, entries in (("Parameters", parameters), ("Attributes", attributes)):
        lines = [f"{name}\n{textwrap.indent(doc, '    ')}" for name, doc in entries.items()]
        if lines:
            text += f"\n\n{title}\n{'-' * len(title)}\n" + "\n".join(lines)
    made.__doc__ = text
    return made


def check_parameters(thing: Any) -> None:
    """Raise an error that names the first parameter that is wrong."""
    for name, check in _checks(thing.__class__):
        check(name, getattr(thing, name))


@cache
def _checks(of: Any) -> list[tuple[str, Check]]:
    """The parameters of a class that have a check."""
    checks = [(field.name, field.metadata.get("check")) for field in dataclasses.fields(of)]
    return [(name, check) for name, check in checks if check is not None]


def current(thing: Any, name: str) -> Any:
    """The value of a parameter, under its name or, with a warning, under its former one."""
    former = [f.name for f in dataclasses.fields(thing) if f.metadata.get("new") == name]
    for old, value in given_formerly(thing, former).items():
        warn_renamed(type(thing).__name__, old, name)
        return value
    return getattr(thing, name)


def warn_renamed(owner: str, old: str, new: str) -> None:
    """Warn that something has a new name."""
    warnings.warn(
        f"{owner}: {old} is now {new}; the old name is removed in 0.4.",
        FutureWarning,
        stacklevel=4,
    )


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Raise an error that names the parameter unless `value` is one of `choices`."""
    if value not in choices:
        raise InvalidInputError(f"{name} must be one of {', '.join(choices)}; got {value!r}.")


def given_formerly(thing: Any, names: Iterable[str]) -> dict[str, Any]:
    """The parameters that were set under these former names."""
    values = {name: getattr(thing, name) for name in names}
    return {name: v for name, v in values.items() if not (isinstance(v, str) and v == DEPRECATED)}


def check_callable(name: str, value: Any) -> None:
    """Raise an error that names the parameter unless `value` can be called, or is None."""
    if value is not None and not callable(value):
        raise InvalidInputError(f"{name} must be callable or None, got {value!r}.")


def check_flag(name: str, value: Any) -> None:
    """Raise an error that names the parameter unless `value` is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise InvalidInputError(f"{name} must be True or False, got {value!r}.")


def check_metric(name: str, value: Any) -> None:
    """Raise an error unless `value` is a metric; for "cosine", it says what to do."""
    if value == "cosine":
        raise InvalidInputError(
            "There is no metric='cosine', because it is the Euclidean distance of rows of length "
            "1. Scale the rows first: make_pipeline(sklearn.preprocessing.Normalizer(), model)."
        )
    check_choice(name, value, ("euclidean", "diagonal", "learned", "auto"))


def check_penalty(name: str, value: Any) -> None:
    """Raise an error unless `value` is a finite number from 0, or None."""
    if value is not None and value == np.inf:
        raise InvalidInputError(
            "penalty must be finite. To make pairs hard, pass them as must_link= and cannot_link=."
        )
    check_number(name, value, low=0, optional=True)
