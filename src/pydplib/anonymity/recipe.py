"""Recipes: the chosen transformation as a file, and what holds when it is applied to another table of the same kind."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from pydplib._shown import Shown
from pydplib.anonymity.assessment.verification import person_codes
from pydplib.anonymity.hierarchies.base import Hierarchy, TableHierarchy
from pydplib.anonymity.models import model_from_dict, model_to_dict
from pydplib.anonymity.preparation import build_problem, read_population
from pydplib.anonymity.search.problem import ModelRule, SearchProblem
from pydplib.anonymity.search.recodings import Recoding, distinct_texts
from pydplib.anonymity.search.verdicts import Judge
from pydplib.anonymity.tables.columns import ROOT, Bools, Ints, Resolved, cell_key
from pydplib.anonymity.tables.frames import ColumnCodes, Frame
from pydplib.anonymity.tables.values import as_text, from_plain, to_plain, write_whole
from pydplib.anonymity.tables.view import dense
from pydplib.errors import AnonymityError, ParameterError
from pydplib.noise import permutation

VERSION = 1


@dataclass(frozen=True, repr=False, kw_only=True)
class Recipe(Shown):
    """The transformation that was chosen: hierarchies, levels, models. It carries no guarantee by itself.

    Applied to another table it gives a table that still has to be verified there.

    Attributes:
        method: How it was found.
        hierarchies: Per quasi-identifier, its hierarchy. One made from the data lists only values that the release
            shows; ``from_data`` names those columns.
        levels: Per quasi-identifier, its level; None where levels differ between rows.
        models: The models with their sensitive columns.
        sensitive: Sensitive columns.
        identifiers: Identifiers, which are dropped.
        insensitive: Columns kept as they are.
        suppression: The largest share of suppressed rows.
        loss: The loss that was minimized.
        stages: For local recoding: nodes and the classes released at each.
        tree: For Mondrian: the cuts.
        person: The column that says whose row it is, where people are counted instead of rows.
        lacking: Models whose population table was not given when the recipe was read.

    Examples:
        >>> import pandas as pd
        >>> from pydplib.anonymity import KAnonymity, anonymize
        >>> table = pd.DataFrame({"sex": ["f", "f", "m", "m"]})
        >>> recipe = anonymize(table, quasi_identifiers=["sex"], models=[KAnonymity(2)]).recipe
        >>> Recipe.from_json(recipe.to_json()) == recipe
        True
    """

    method: str
    hierarchies: Mapping[str, Hierarchy]
    levels: Mapping[str, int] | None
    models: tuple[ModelRule, ...]
    sensitive: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()
    insensitive: tuple[str, ...] = ()
    suppression: float = 0.0
    loss: str = "granularity"
    stages: tuple[Any, ...] = field(default=(), repr=False)
    tree: Any = field(default=None, repr=False)
    person: str | None = None
    lacking: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "hierarchies", MappingProxyType(dict(self.hierarchies)))
        if self.levels is not None:
            object.__setattr__(self, "levels", MappingProxyType(dict(self.levels)))

    def __str__(self) -> str:
        rows = [
            f"  {name}  {'level differs between rows' if self.levels is None else f'level {self.levels[name]}'}"
            for name in self.hierarchies
        ]
        models = ", ".join(map(str, self.models)) or "no model"
        return "\n".join([f"Recipe ({self.method}) for {models}; it carries no guarantee by itself.", *rows])

    @property
    def from_data(self) -> tuple[str, ...]:
        """Columns whose hierarchies were made from the data: their bounds and values come from the table."""
        return tuple(name for name, hierarchy in self.hierarchies.items() if hierarchy.from_data)

    def to_dict(self) -> dict[str, Any]:
        """Return the recipe as plain values."""
        return {
            "version": VERSION,
            "method": self.method,
            "hierarchies": {name: h.to_dict() for name, h in self.hierarchies.items()},
            "levels": None if self.levels is None else dict(self.levels),
            "models": [{**model_to_dict(rule.model), "sensitive": rule.sensitive} for rule in self.models],
            "sensitive": list(self.sensitive),
            "identifiers": list(self.identifiers),
            "insensitive": list(self.insensitive),
            "suppression": self.suppression,
            "loss": self.loss,
            "stages": _lists(self.stages),
            "tree": _lists(self.tree),
            "person": self.person,
        }

    def to_json(self) -> str:
        """Return the recipe as JSON text."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=2)

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the recipe to a JSON file that its owner alone can read: hierarchies and cuts can list values.

        Args:
            path: The file; one that exists is not replaced.
            overwrite: Replace it after all.
        """
        write_whole(path, self.to_json().encode(), private=True, overwrite=overwrite)

    @classmethod
    def from_json(cls, text: str, *, population: Any = None) -> Recipe:
        """Read a recipe from JSON text; models with a population table get the one given here."""
        try:
            values = json.loads(text)
            if values["version"] != VERSION:
                raise ParameterError(
                    f"This recipe has version {values['version']}; this pydplib reads version {VERSION}."
                )
            rules, lacking = [], []
            for entry in values["models"]:
                entry = dict(entry)
                column = entry.pop("sensitive", None)
                if entry.get("population") is not None and population is None:
                    # Kept in the file only as a remark; the model cannot be rebuilt without its table.
                    lacking.append(str(entry.get("model")))
                    continue
                rules.append(ModelRule(model_from_dict(entry, population=population), column))
            return cls(
                method=values["method"],
                hierarchies={name: Hierarchy.from_dict(h) for name, h in values["hierarchies"].items()},
                levels=values["levels"],
                models=tuple(rules),
                sensitive=tuple(values["sensitive"]),
                identifiers=tuple(values["identifiers"]),
                insensitive=tuple(values["insensitive"]),
                suppression=values["suppression"],
                loss=values["loss"],
                stages=_tuples(values["stages"]),
                tree=_tuples(values["tree"]),
                person=values.get("person"),
                lacking=tuple(lacking),
            )
        except (json.JSONDecodeError, KeyError, TypeError, AttributeError):
            raise ParameterError("The recipe file is damaged: it is not a recipe as pydplib writes them.") from None

    @classmethod
    def load(cls, path: str | Path, *, population: Any = None) -> Recipe:
        """Read a recipe from a JSON file."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            raise ParameterError(f"The recipe file '{path}' cannot be read.") from None
        return cls.from_json(text, population=population)

    def apply(self, table: Any) -> Any:
        """Transform another table of the same kind, shuffled, without identifiers.

        All models of the recipe are held on the new table: rows are left out whose class fails one of them, judged
        against the distribution of what is left (people are counted where the recipe knows a person column). Rows are
        left out, too, that fit no released class of a local recoding or no box of a Mondrian partition, or that have a
        value unknown to a hierarchy made from data. There is no limit for what is left out, and nothing is compared
        with earlier releases: run ``verify`` on the result, and count it.
        """
        return apply_recipe(self, Frame(table))


def _lists(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _lists(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_lists(item) for item in value]
    if isinstance(value, np.generic):
        return value.item()
    return to_plain(value)


def _tuples(value: Any) -> Any:
    if isinstance(value, Mapping):
        plain = from_plain(value)
        return plain if plain is not value else {key: _tuples(item) for key, item in value.items()}
    return (
        tuple(_tuples(item) for item in value) if isinstance(value, Sequence) and not isinstance(value, str) else value
    )


def apply_recipe(recipe: Recipe, frame: Frame) -> Any:
    """Return the transformed table, shuffled, without rows that the recipe does not cover or that fail its models."""
    names = list(recipe.hierarchies)
    if recipe.lacking:
        raise ParameterError(
            f"The recipe asks for {', '.join(recipe.lacking)}, whose population table is not stored in it. Give it "
            "again: Recipe.load(path, population=table)."
        )
    frame.check_columns([*names, *recipe.sensitive, *recipe.insensitive], "named by the recipe")
    if recipe.person is not None:
        frame.check_columns([recipe.person], "whose rows they are, named by the recipe")
    coded = {name: frame.coded(name) for name in names}
    known = {name: resolve_known(recipe.hierarchies[name], name, coded[name].values) for name in names}
    columns = {name: column for name, (column, _) in known.items()}
    if recipe.levels is not None:
        labels = {n: _at_level(columns[n], coded[n], recipe.levels[n]) for n in names}
        keep = np.ones(len(frame), dtype=bool)
        for name, (_, new) in known.items():
            if recipe.levels[name] == 0 and new.any():
                keep &= ~new[coded[name].codes]
    elif recipe.stages:
        labels, keep = _by_stages(recipe, columns, coded, len(frame))
    elif recipe.tree is not None:
        labels, keep = _by_cuts(recipe, coded, len(frame))
    else:
        raise ParameterError(
            f"A recipe of method '{recipe.method}' is made of groups of its own table and cannot be applied to "
            "another one. Use method='optimal', 'local' or 'mondrian' for recipes."
        )
    keep = enforce_models(recipe, frame, labels, keep)
    rows = np.flatnonzero(keep)
    order = rows[permutation(len(rows))] if len(rows) else rows
    out: list[tuple[str, Any]] = []
    for name in frame.columns:
        if name in labels:
            texts, ids = labels[name]
            out.append((name, frame.column_of(name, texts, ids[order])))
        elif name in recipe.sensitive or name in recipe.insensitive:
            out.append((name, frame.take(name, order, frame.coded(name))))
    return frame.build(out)


def _at_level(column: Resolved, coded: ColumnCodes, level: int) -> tuple[list[Any], Ints]:
    if not 0 <= level <= column.height:
        raise ParameterError(f"The recipe's level {level} of column '{column.name}' is not in its hierarchy.")
    return list(column.labels[level]), column.levels[level][coded.codes] if len(coded.codes) else coded.codes


def _by_stages(
    recipe: Recipe, columns: dict[str, Resolved], coded: dict[str, ColumnCodes], rows: int
) -> tuple[dict[str, tuple[list[Any], Ints]], Bools]:
    """Send every row to the first stage that released a class with its labels."""
    names = list(columns)
    open_rows = np.ones(rows, dtype=bool)
    labels: dict[str, list[Any]] = {name: [] for name in names}
    place: dict[str, dict[Any, int]] = {name: {} for name in names}
    ids = {name: np.zeros(rows, dtype=np.int64) for name in names}
    for node, classes in recipe.stages:
        wanted = {tuple(as_text(cell) for cell in row) for row in classes}
        here = np.flatnonzero(open_rows)
        if not len(here):
            break
        cells = []
        for name, level in zip(names, node, strict=True):
            column = columns[name]
            texts = [as_text(label) for label in column.labels[level]]
            cells.append([texts[i] for i in column.levels[level][coded[name].codes[here]].tolist()])
        match = np.fromiter((row in wanted for row in zip(*cells, strict=True)), dtype=bool, count=len(here))
        taken = here[match]
        open_rows[taken] = False
        for name, level in zip(names, node, strict=True):
            column = columns[name]
            number = np.empty(len(column.labels[level]), dtype=np.int64)
            for i, label in enumerate(column.labels[level]):
                # A text that means other values at another level gets a number of its own.
                key = (str(label), np.flatnonzero(column.levels[level] == i).tobytes())
                if key not in place[name]:
                    place[name][key] = len(labels[name])
                    labels[name].append((label, key))
                number[i] = place[name][key]
            ids[name][taken] = number[column.levels[level][coded[name].codes[taken]]]
    return {name: (distinct_texts(labels[name]), ids[name]) for name in names}, ~open_rows


def _by_cuts(
    recipe: Recipe, coded: dict[str, ColumnCodes], rows: int
) -> tuple[dict[str, tuple[list[Any], Ints]], Bools]:
    """Replay the cuts of a Mondrian partition; rows with values it has not seen are left out."""
    names = list(coded)
    ranks = np.zeros((len(names), rows), dtype=np.int64)
    keep = np.ones(rows, dtype=bool)
    for a, name in enumerate(names):
        place = {cell_key(value): i for i, value in enumerate(recipe.tree["orders"][a])}
        number = [place.get(cell_key(value), -1) for value in coded[name].values]
        ranks[a] = np.array(number or [0], dtype=np.int64)[coded[name].codes]
        keep &= ranks[a] >= 0
    part = np.zeros(rows, dtype=np.int64)
    for level in recipe.tree["cuts"]:
        table = np.array(level, dtype=np.int64).reshape(-1, 4)
        column = np.full(int(part.max(initial=0)) + 1, -1, dtype=np.int64)
        last, fresh = column.copy(), column.copy()
        known = table[table[:, 0] < len(column)]
        column[known[:, 0]], last[known[:, 0]], fresh[known[:, 0]] = known[:, 1], known[:, 2], known[:, 3]
        cut = column[part]
        right = (cut >= 0) & (ranks[np.maximum(cut, 0), np.arange(rows)] > last[part])
        part = np.where(right, fresh[part], part)
    return {name: (list(recipe.tree["names"][a]), part) for a, name in enumerate(names)}, keep


Labels = Mapping[str, tuple[Sequence[Any], Ints]]


def enforce_models(recipe: Recipe, frame: Frame, labels: Labels, keep: Bools) -> Bools:
    """Return which rows stay so that every model holds for what is left, measured against what is left.

    Leaving rows out changes the distribution that t-closeness and its kin compare with, so classes are judged again
    until none fails.
    """
    keep = keep.copy()
    populations, shown = _populations(recipe, labels)
    while True:
        rows = np.flatnonzero(keep)
        if not len(rows):
            return keep
        problem = _problem(recipe, frame, {name: (shown[name], ids[rows]) for name, (_, ids) in labels.items()}, rows)
        problem.population.update(populations)
        verdict = Judge(problem).judge((0,) * len(labels))
        assert verdict.suppressed is not None and problem.of_row is not None
        lost = verdict.classes.tuple_mask(verdict.suppressed)[problem.of_row]
        if not lost.any():
            if verdict.suppressed_rows > len(rows):
                raise AnonymityError("The recipe's delta-presence cannot hold: people of the population look absent.")
            return keep
        keep[rows[lost]] = False


def _problem(recipe: Recipe, frame: Frame, labels: Labels, rows: Ints) -> SearchProblem:
    """Return some rows of a table, with their labels as they are, as a search sees them."""
    coded = {name: ColumnCodes(name, ids, tuple(texts)) for name, (texts, ids) in labels.items()}
    columns = [_as_it_is(name, texts) for name, (texts, _) in labels.items()]
    for name in recipe.sensitive:
        column = frame.coded(name)
        used, codes = np.unique(column.codes[rows], return_inverse=True)
        coded[name] = ColumnCodes(name, codes.astype(np.int64), tuple(column.values[i] for i in used.tolist()))
    owner = None
    if recipe.person is not None:
        owner = dense(person_codes(frame.coded(recipe.person))[rows])
        if len(owner) == int(owner.max(initial=-1)) + 1:
            owner = None  # one row each: counting rows counts persons
    return build_problem(
        len(rows), columns, coded, list(labels), recipe.sensitive, recipe.models, len(rows), owner, False, None
    )


def _as_it_is(name: str, labels: Sequence[Any]) -> Resolved:
    """Return a column with one level: the labels that it has."""
    nothing = np.zeros(len(labels))
    return Resolved(
        name=name,
        values=tuple(labels),
        levels=(np.arange(len(labels)),),
        labels=(tuple(labels),),
        cost=(nothing,),
        share=(nothing,),
    )


def _populations(recipe: Recipe, labels: Labels) -> tuple[dict[int, tuple[list[Ints], Ints]], dict[str, list[Any]]]:
    """Return the populations in the numbering of the labels, which are extended by those that only they have."""
    found: dict[int, tuple[list[Ints], Ints]] = {}
    shown = {name: list(texts) for name, (texts, _) in labels.items()}
    place = {name: {as_text(label): i for i, label in enumerate(texts)} for name, texts in shown.items()}
    for model in {id(rule.model): rule.model for rule in recipe.models}.values():
        population = getattr(model, "population", None)
        if population is None:
            continue
        if recipe.levels is None:
            raise ParameterError(f"{model} needs one level per column. Use a recipe of method='optimal'.")
        columns, weight = read_population(population, list(labels), recipe.person)
        codes = []
        for column in columns:
            name = column.name
            resolved, _ = resolve_known(recipe.hierarchies[name], name, column.values)
            level = recipe.levels[name]
            numbers = []
            for label in resolved.labels[level]:
                if as_text(label) not in place[name]:
                    place[name][as_text(label)] = len(shown[name])
                    shown[name].append(label)
                numbers.append(place[name][as_text(label)])
            codes.append(np.array(numbers, dtype=np.int64)[resolved.levels[level][column.codes]])
        found[id(model)] = (codes, weight)
    return found, shown


def released_hierarchies(
    hierarchies: Mapping[str, Hierarchy], problem: SearchProblem, recoding: Recoding
) -> dict[str, Hierarchy]:
    """Return the hierarchies for a recipe, without values of the data that no released row shows."""
    out: dict[str, Hierarchy] = {}
    for place, column in enumerate(problem.columns):
        hierarchy = hierarchies[column.name]
        if isinstance(hierarchy, TableHierarchy) and hierarchy.from_data:
            shown = _shown(place, column, problem, recoding)
            rows = [row for row in hierarchy.rows if cell_key(row[0]) in shown]
            hierarchy = TableHierarchy(rows or [("", *[ROOT] * hierarchy.height)], from_data=True)
        out[column.name] = hierarchy
    return out


def _shown(place: int, column: Resolved, problem: SearchProblem, recoding: Recoding) -> set[Any]:
    if recoding.stages:
        return {cell_key(cells[place]) for node, classes in recoding.stages if node[place] == 0 for cells in classes}
    if recoding.levels is not None and recoding.levels[column.name] > 0:
        return set()
    codes = problem.codes[place][~_gone(problem, recoding)]
    return {cell_key(column.values[code]) for code in np.unique(codes).tolist()}


def _gone(problem: SearchProblem, recoding: Recoding) -> Bools:
    if recoding.suppressed_rows is None:
        return recoding.suppressed
    assert problem.of_row is not None
    kept = np.bincount(problem.of_row[~recoding.suppressed_rows], minlength=len(problem.weight))
    return np.asarray(kept == 0)


def resolve_known(hierarchy: Hierarchy, name: str, values: Sequence[Any]) -> tuple[Resolved, Bools]:
    """Resolve values of another table, and say which of them a hierarchy made from data does not know."""
    if not isinstance(hierarchy, TableHierarchy) or not hierarchy.from_data:
        return hierarchy.resolve(name, values), np.zeros(len(values), dtype=bool)
    new = np.array([value is not None and hierarchy.row_of(value) is None for value in values], dtype=bool)
    more = [[value, *[ROOT] * hierarchy.height] for value, fresh in zip(values, new, strict=True) if fresh]
    return TableHierarchy([*hierarchy.rows, *more], from_data=True).resolve(name, values), new
