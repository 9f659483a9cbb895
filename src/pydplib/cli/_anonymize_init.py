"""A commented configuration with guesses, for the data steward to check."""

from __future__ import annotations

from collections.abc import Iterable

from pydplib._toml import toml_key, toml_value
from pydplib.cli._guesses import Guess, person_of

_HEAD = """\
# How `pydplib anonymize` treats {file}.
#
# EVERYTHING BELOW IS A GUESS, made from the names of the columns and from how their values look.
# Read it line by line and change what is wrong. Only then write true here:
checked = false
{sheet}
# Who can be found? Every column has one of four roles. A column without a role is dropped.
#   identifiers         name somebody directly: dropped (or see [pseudonyms] below)
#   quasi_identifiers   an outsider may know them (age, postcode, dates): made coarser until nobody stands out
#   sensitive           what nobody may learn about somebody (diagnosis, income): kept, and watched by models
#   keep                harmless, handed over as it is
"""
_MODELS = """\
# What has to hold afterwards. All models hold together, or nothing is written.
[[models]]
model = "k-anonymity"   # nobody can be narrowed down to fewer than k people
k = 5
"""
_DIVERSITY = """
[[models]]
model = "l-diversity"   # in every group of people at least l different values{of}
l = 2
"""
_OTHERS = """
# More models, to be used by removing the '#' (sensitive = "..." limits one to a column):
# [[models]]
# model = "l-diversity"
# l = 3
# kind = "entropy"      # or "distinct", or "recursive" with c = 4
# [[models]]
# model = "t-closeness" # in every group the values are spread as in the whole table, within t
# t = 0.2
# distance = "equal"    # or "ordered" (numbers, stages), or "hierarchical" with hierarchy = "file.csv"
# Others: alpha-k (alpha, k), beta-likeness (beta), delta-disclosure (delta), k-map (k and fraction, or population =
# "file.csv"), delta-presence (upper, population), average-risk (limit = 0.05), population-uniqueness (limit = 0.01 and
# fraction = 0.1).
"""
_PSEUDONYMS = """
# Instead of dropping an identifier, replace it. Consistent pseudonyms link a person's rows, and need a secret key:
# openssl rand -out pseudonyms.key 32
# [pseudonyms.{column}]
# consistent = true
# key_file = "pseudonyms.key"
"""


def config_text(file: str, guesses: list[Guess], *, sheet: str | None = None) -> str:
    """Return the text of a configuration with every guess and the reason for it.

    Examples:
        >>> text = config_text("a.csv", [Guess("age", "quasi", "the name says so", {"kind": "automatic"})])
        >>> "[quasi_identifiers.age]" in text and "checked = false" in text
        True
    """
    identifiers = [guess for guess in guesses if guess.role == "identifier"]
    quasi = [guess for guess in guesses if guess.role == "quasi"]
    sensitive = [guess for guess in guesses if guess.role == "sensitive"]
    person = person_of(guesses)
    lines = [_HEAD.format(file=one_line(file), sheet=f"\nsheet = {toml_value(sheet)}\n" if sheet else "")]
    lines += _listed("identifiers", identifiers)
    lines += _listed("sensitive", sensitive)
    lines += _listed("keep", [guess for guess in guesses if guess.role == "keep"])
    empty = [one_line(guess.name) for guess in guesses if guess.role == "empty"]
    if empty:
        lines += [f"# No row has a value, so they have no role and are dropped: {', '.join(empty)}", ""]
    if person is None:
        lines += ["# If somebody can have several rows, name the column that says whose row it is:"]
        lines += ['# person = "patient_id"', ""]
    else:
        lines += ["# Whose row it is: somebody has several, so people are counted, not rows."]
        lines += [f"person = {toml_value(person)}", ""]
    lines += [
        "suppression = 0.05      # at most this share of the rows may be left out",
        'method = "optimal"      # or "local", "cells", "mondrian", "microaggregation"',
        'loss = "granularity"    # what is kept small: or "precision", "entropy", "discernibility", "class_size"',
        'reference = "output"    # what t-closeness compares with: the released rows, or "input": all rows',
        "",
        "# How quasi-identifiers become coarser, step by step. Kinds: intervals, cuts (edges), dates, masking, codes",
        '# (system = "icd-10" or "uk-postcode"), order (values), grouping (groups), flat (values: each value, or "*"),',
        "# file (path of a CSV as ARX writes them), top-bottom, automatic. `pydplib hierarchy` makes and checks files.",
        "# Bounds and values from the data can give something away: those are marked from_data, or automatic,",
        "# and every run reminds you of them until you have put in what is possible in the real world.",
    ]
    if not quasi:
        lines.append('# No column looks like one. Name at least one: [quasi_identifiers.age] with kind = "automatic".')
    for guess in quasi:
        lines += [f"[quasi_identifiers.{toml_key(guess.name)}]   # {guess.why}"]
        remark = f"   # {guess.hint}" if guess.hint else ""
        for place, (key, value) in enumerate(guess.hierarchy.items()):
            lines.append(f"{key} = {toml_value(value)}{remark if place == 0 else ''}")
        lines.append("")
    lines.append(_MODELS.rstrip("\n"))
    if sensitive:
        lines.append(_DIVERSITY.format(of=f" of {one_line(sensitive[0].name)}" if len(sensitive) == 1 else "").rstrip())
    lines.append(_OTHERS.rstrip("\n"))
    if identifiers:
        column = person or identifiers[0].name
        lines.append(_PSEUDONYMS.format(column=toml_key(column)).rstrip("\n"))
    return "\n".join(lines) + "\n"


def _listed(key: str, guesses: Iterable[Guess]) -> list[str]:
    entries = list(guesses)
    if not entries:
        return [f"{key} = []", ""]
    inside = [f"  {toml_value(guess.name)},   # {guess.why}" for guess in entries]
    return [f"{key} = [", *inside, "]", ""]


def one_line(text: str) -> str:
    """Return a name for a comment, which ends with its line."""
    return " ".join(text.split())
