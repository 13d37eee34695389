"""The docstrings of all public names say what goes in, what comes out and what it is called.

`synafa.__all__` is read, so a new public name is checked from its first day.
"""

from __future__ import annotations

import inspect
from dataclasses import fields, is_dataclass

import pytest

import synafa

pytest.importorskip("numpydoc", reason="checking docstrings needs the extra 'docs'")
from numpydoc.docscrape import ClassDoc
from numpydoc.validate import validate

CHECKS = {
    "GL05",  # tabs
    "GL06",  # an unknown section
    "GL07",  # sections in a wrong order
    "GL08",  # no docstring
    "GL09",  # deprecation in a wrong place
    "SS01",  # no summary
    "SS02",  # summary does not start with a capital letter
    "SS03",  # summary does not end with a period
    "SS04",  # summary has leading spaces
    "PR01",  # a parameter is not documented
    "PR02",  # a documented parameter does not exist
    "PR03",  # parameters in a wrong order
    "PR04",  # a parameter without a type
    "PR05",  # a type that ends with a period
    "PR07",  # a parameter without a description
    "PR10",  # no space before the colon
    "RT01",  # a result that is not documented
    "RT03",  # a result without a description
    "YD01",  # a generator whose items are not documented
}
EXAMPLES = {"EX01"}  # classes and functions also show themselves at work


def public_objects():
    """Every public name, and the public methods and properties that its class defines here."""
    for name in synafa.__all__:
        value = getattr(synafa, name)
        if not (inspect.isclass(value) or inspect.isroutine(value)):
            continue
        home = f"{value.__module__}.{value.__qualname__}"
        checks = CHECKS | (set() if issubclass_of_error(value) else EXAMPLES)
        yield home, checks - ({"PR01"} if is_dataclass(value) else set())  # its fields stand under Attributes
        if inspect.isclass(value):
            for member, inside in members(value):
                yield f"{home}.{member}", CHECKS - ({"RT01"} if isinstance(inside, property) else set())


def members(cls):
    """Public methods and properties of a class that are written in this package."""
    for member in sorted({name for base in cls.__mro__ if in_package(base) for name in vars(base)}):
        inside = inspect.getattr_static(cls, member)
        plain = inside.__func__ if isinstance(inside, classmethod | staticmethod) else inside
        if not member.startswith("_") and (inspect.isfunction(plain) or isinstance(plain, property)):
            yield member, plain


def in_package(cls):
    return cls.__module__.split(".")[0] == "synafa"


def issubclass_of_error(value):
    return inspect.isclass(value) and issubclass(value, BaseException)


OBJECTS = list(public_objects())


def test_the_public_names_are_found():
    found = {name.rsplit(".", 1)[-1] for name, _ in OBJECTS}
    assert {"SynAFA", "next_feature", "from_codes", "load_model", "pid"} <= found
    assert len(OBJECTS) > 40


@pytest.mark.parametrize(("name", "checks"), OBJECTS, ids=[name for name, _ in OBJECTS])
def test_a_public_name_is_documented(name, checks):
    wrong = [f"{code} {text}" for code, text in validate(name)["errors"] if code in checks]
    assert not wrong, f"{name}: " + "; ".join(wrong)


@pytest.mark.parametrize("name", [name for name in synafa.__all__ if is_dataclass(getattr(synafa, name))])
def test_the_fields_of_a_record_are_documented(name):
    record = getattr(synafa, name)
    entries = ClassDoc(record)["Attributes"]
    said = {part.strip() for entry in entries for part in entry.name.split(",")}
    assert {field.name for field in fields(record)} <= said
    assert all(entry.type and "".join(entry.desc).strip() for entry in entries), f"{name}: a field without words"
