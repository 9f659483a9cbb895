"""The paper's words: query types, roles and data types, as numbers or as words."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from numbers import Integral
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np

from pydplib.errors import ParameterError, did_you_mean, shown
from pydplib.policy.noise_factors import NOISE_FACTORS, NoiseFactor

QueryType: TypeAlias = Literal["count", "mean", "median", "variance"]
Kind: TypeAlias = Literal["int", "float", "bool", "category", "date"]
"""How values are treated: the eight data types of the paper (and dates) behave in five ways."""

NoiseMetric: TypeAlias = Literal["wmape", "range"]
Selector: TypeAlias = Literal["closed_form", "search", "public"]
OnMissing: TypeAlias = Literal["error", "drop", "category"]

NOISE_METRICS: tuple[NoiseMetric, ...] = ("wmape", "range")
SELECTORS: tuple[Selector, ...] = ("closed_form", "search", "public")
ON_MISSING: tuple[OnMissing, ...] = ("error", "drop", "category")


ROLES: Mapping[str, NoiseFactor] = {factor.role: factor for factor in NOISE_FACTORS.values()}
"""Who gets how much noise: the paper's data owners, collaborators and third parties."""

_QUERY_TYPES: Mapping[str, QueryType] = {
    "1": "count",
    "count": "count",
    "histogram": "count",
    "2": "mean",
    "mean": "mean",
    "average": "mean",
    "3": "median",
    "median": "median",
    "4": "variance",
    "variance": "variance",
}

_DATA_TYPES: Mapping[str, Kind] = {
    "char": "category",
    "string": "category",
    "int": "int",
    "numpy integer": "int",
    "float": "float",
    "numpy float": "float",
    "bool": "bool",
    "numpy bool": "bool",
    "date": "date",
}
DATA_TYPES: tuple[str, ...] = tuple(_DATA_TYPES)
"""The paper's data types, and ``"date"``."""

PAPER_TYPES: tuple[str, ...] = ("char", "string", "int", "numpy.int", "float", "numpy.float", "bool", "numpy.bool")
"""The data types as the paper writes them (section 4.4)."""

_SYNONYMS = {
    "str": "string",
    "category": "string",
    "character": "char",
    "integer": "int",
    "numpy int": "numpy integer",
    "np int": "numpy integer",
    "np integer": "numpy integer",
    "np float": "numpy float",
    "np bool": "numpy bool",
    "boolean": "bool",
}

_Word = TypeVar("_Word", bound=str)


def parse_query_type(query_type: object) -> QueryType:
    """Return the query type for a number from 1 to 4 or a word.

    Examples:
        >>> parse_query_type(2), parse_query_type("average")
        ('mean', 'mean')
    """
    word = _word(query_type)
    if word not in _QUERY_TYPES:
        raise ParameterError(
            f"Unknown query_type {_shown(query_type)}; it is 1 count, 2 mean, 3 median or 4 variance."
            + did_you_mean(word, ["count", "histogram", "mean", "average", "median", "variance"])
        )
    return _QUERY_TYPES[word]


def parse_role(role: object) -> NoiseFactor:
    """Return the noise factor that the paper gives to a role.

    Examples:
        >>> parse_role("third party").name
        'high'
    """
    word = _word(role).replace(" ", "_")
    if word not in ROLES:
        raise ParameterError(f"Unknown role {_shown(role)}.{did_you_mean(word, ROLES)}")
    return ROLES[word]


def parse_data_type(data_type: object) -> str:
    """Return the name of a data type for a word, a Python type or a NumPy type.

    Examples:
        >>> parse_data_type("numpy.int"), parse_data_type(int), parse_data_type(np.float32)
        ('numpy integer', 'int', 'numpy float')
    """
    builtin: dict[object, str] = {
        bool: "bool",
        int: "int",
        float: "float",
        str: "string",
        datetime.date: "date",
        datetime.datetime: "date",
    }
    if isinstance(data_type, type) and data_type in builtin:
        return builtin[data_type]
    if isinstance(data_type, np.dtype) or (isinstance(data_type, type) and issubclass(data_type, np.generic)):
        dtype: np.dtype[Any] = np.dtype(data_type)
        name = {"b": "numpy bool", "i": "numpy integer", "u": "numpy integer", "f": "numpy float"}.get(dtype.kind)
        name = name or {"U": "string", "M": "date"}.get(dtype.kind)
        if name:
            return name
    word = " ".join(re.split(r"[\s_.]+", _word(data_type)))
    if found := re.fullmatch(r"(numpy|np) (u?int|float|bool)(8|16|32|64|128)?", word):
        word = f"numpy {found[2].removeprefix('u')}"  # numpy.int64, np.float32, numpy.bool_
    word = _SYNONYMS.get(word.strip(), word.strip())
    if word not in _DATA_TYPES:
        known = (*PAPER_TYPES, "date")
        raise ParameterError(f"Unknown data_type {_shown(data_type)}.{did_you_mean(word, known)}")
    return word


def kind_of(data_type: str) -> Kind:
    """Return how values of a data type are treated; char and string are categories."""
    return _DATA_TYPES[data_type]


def parse_choice(name: str, value: object, known: tuple[_Word, ...]) -> _Word:
    """Return one of the known words, or say which there are."""
    for word in known:
        if value == word:
            return word
    raise ParameterError(f"Unknown {name} {_shown(value)}.{did_you_mean(value, known)}")


def check_flags(**flags: object) -> None:
    """Refuse a switch that is neither True nor False: ``"no"`` would count as True."""
    for name, value in flags.items():
        if not isinstance(value, bool | np.bool_):
            raise ParameterError(f"{name} must be True or False. Got {shown(value)}.")


def _word(value: object) -> str:
    if isinstance(value, bool | np.bool_) or not isinstance(value, str | Integral):
        return ""  # neither True nor 1.5 is a query type
    return str(value).strip().lower().replace("-", "_")


def _shown(value: object) -> str:
    """Quote an option only if it is a short word or number: somebody may have passed data by mistake."""
    if isinstance(value, str | Integral) and len(str(value)) <= 20:
        return f"'{value}'"
    return f"of type {type(value).__name__}"
