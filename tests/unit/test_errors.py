"""Errors: the tree, the table of exit codes, hints, and what a message may show."""

from __future__ import annotations

import builtins
import inspect
import pickle
import re

import pytest

from pydplib import errors
from pydplib.errors import (
    ERROR_TYPES,
    BudgetError,
    MissingExtraError,
    PydplibError,
    did_you_mean,
    import_extra,
    shown,
)


def _make(cls: type[PydplibError]) -> PydplibError:
    return cls("Drawing a figure", "plot") if cls is MissingExtraError else cls("a sentence")


def test_error_types_lists_every_class_of_the_module():
    defined = {
        cls
        for cls in vars(errors).values()
        if inspect.isclass(cls) and issubclass(cls, PydplibError) and cls is not PydplibError
    }
    assert set(ERROR_TYPES) == defined
    assert len(ERROR_TYPES) == len(set(ERROR_TYPES))


@pytest.mark.parametrize("cls", ERROR_TYPES)
def test_error_is_also_the_builtin_that_the_tree_says(cls):
    line = next(line for line in errors.__doc__.splitlines() if re.search(rf"\b{cls.__name__}\b", line))
    builtin = re.search(r"\((\w+)\)", line).group(1)
    assert issubclass(cls, getattr(builtins, builtin))
    assert issubclass(cls, PydplibError)


def test_errors_docstring_tree_names_no_class_that_is_not_there():
    drawn = re.findall(r"[├└]── (\w+)", errors.__doc__)
    assert drawn == [cls.__name__ for cls in ERROR_TYPES]


def test_errors_exit_codes_are_unique_and_leave_the_shells_own_alone():
    codes = [cls.exit_code for cls in ERROR_TYPES]
    assert len(set(codes)) == len(codes)
    # 0 success, 1 the base, 2 wrong usage (click), 126 and above: the shell's.
    assert all(2 < code < 126 for code in codes)
    assert PydplibError.exit_code == 1


@pytest.mark.parametrize("cls", ERROR_TYPES)
def test_error_http_status_is_one_of_client_or_server_errors(cls):
    assert cls.http_status in (403, 422, 500, 501, 503)


@pytest.mark.parametrize("cls", [PydplibError, *ERROR_TYPES])
def test_error_has_a_docstring_and_survives_the_way_between_processes(cls):
    assert cls.__doc__.strip()
    error = _make(cls)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is cls and str(again) == str(error) and again.__dict__ == error.__dict__


def test_budget_error_carries_asked_and_left():
    error = pickle.loads(pickle.dumps(BudgetError("too dear", asked="1", left="0.5")))
    assert (error.asked, error.left) == ("1", "0.5")
    assert BudgetError("too dear").asked is None


def test_missing_extra_error_names_the_pip_command():
    error = MissingExtraError("Drawing a figure", "plot")
    assert str(error) == "Drawing a figure needs an optional part. Install it with: pip install 'pydplib[plot]'"
    assert error.extra == "plot"


def test_import_extra_missing_module_names_the_pip_command():
    with pytest.raises(MissingExtraError, match=r"pip install 'pydplib\[plot\]'"):
        import_extra("no_such_module_anywhere", what="Drawing a figure", extra="plot")


def test_import_extra_present_module_is_returned():
    import json

    assert import_extra("json", what="Reading", extra="none") is json


@pytest.mark.parametrize(
    ("word", "known", "hint"),
    [
        ("hihg", ["low", "medium", "high"], " Did you mean 'high'?"),
        ("qqq", ["low", "high"], " Choose one of: low, high."),
        ("qqq", [], ""),
        (3, [1, 2], " Choose one of: 1, 2."),
    ],
)
def test_did_you_mean_suggests_or_lists(word, known, hint):
    assert did_you_mean(word, known) == hint


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "None"),
        (True, "True"),
        (-3, "-3"),
        (1.5, "1.5"),
        (float("nan"), "nan"),
        ("hihg", "'hihg'"),
        ("x" * 50, "a str too long to show"),
        (10**60, "an int too long to show"),
        ([1, 2], "a list"),
        ({"age": 71}, "a dict"),
        (ValueError("71"), "a ValueError"),
    ],
)
def test_shown_plain_values_only(value, text):
    assert shown(value) == text


def test_shown_subclass_of_a_number_is_not_trusted_to_print_itself():
    class Sneaky(int):
        def __repr__(self) -> str:
            return "row 17: Erika Mustermann"

    assert shown(Sneaky(1)) == "a Sneaky"


def test_shown_numbers_that_python_does_not_write_are_only_named():
    assert errors.shown(10**5000) == "an int too long to show"
