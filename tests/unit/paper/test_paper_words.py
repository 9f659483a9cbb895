"""Words and numbers of the paper: both are understood, typing errors are answered with a hint."""

from __future__ import annotations

import datetime

import numpy as np
import pytest

from pydplib.errors import ParameterError
from pydplib.paper.words import DATA_TYPES, kind_of, parse_data_type, parse_query_type, parse_role


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (1, "count"),
        ("Histogram", "count"),
        (2, "mean"),
        (" average ", "mean"),
        (np.int64(3), "median"),
        ("4", "variance"),
    ],
)
def test_query_type_is_a_number_or_a_word(given, expected) -> None:
    assert parse_query_type(given) == expected


@pytest.mark.parametrize("given", [0, 5, "modus", 1.0, True, None, [2]])
def test_query_type_when_unknown_is_an_error(given) -> None:
    with pytest.raises(ParameterError, match="1 count, 2 mean, 3 median or 4 variance"):
        parse_query_type(given)


def test_query_type_when_mistyped_is_hinted_at() -> None:
    with pytest.raises(ParameterError, match="Did you mean 'median'"):
        parse_query_type("medain")


@pytest.mark.parametrize(
    ("role", "number"), [("owner", 0), ("Collaborator", 1), ("third_party", 2), ("third-party", 2), ("third party", 2)]
)
def test_role_has_its_noise_factor(role, number) -> None:
    assert parse_role(role).number == number


@pytest.mark.parametrize("role", ["radiologist", "colaborator", 2, None])
def test_role_when_it_gets_no_noisy_data_is_an_error(role) -> None:
    with pytest.raises(ParameterError, match="Unknown role"):
        parse_role(role)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        *((name, name) for name in DATA_TYPES),
        ("str", "string"),
        ("numpy_float", "numpy float"),
        (int, "int"),
        (float, "float"),
        (bool, "bool"),
        (str, "string"),
        (datetime.date, "date"),
        (np.int8, "numpy integer"),
        (np.dtype("float32"), "numpy float"),
        (np.bool_, "numpy bool"),
        (np.dtype("M8[D]"), "date"),
        (np.str_, "string"),
    ],
)
def test_data_type_is_a_word_or_a_type(given, expected) -> None:
    assert parse_data_type(given) == expected


@pytest.mark.parametrize("given", ["complex", complex, np.complex128, 5, list])
def test_data_type_when_unknown_is_an_error(given) -> None:
    with pytest.raises(ParameterError, match="Unknown data_type"):
        parse_data_type(given)


def test_char_and_string_are_categories() -> None:
    assert {kind_of("char"), kind_of("string")} == {"category"}
