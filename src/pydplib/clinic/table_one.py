"""Table 1 of a paper: every variable by arm, one purchase; numbers, percentages, means, medians and tests."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pydplib.clinic.association import independence_test
from pydplib.clinic.contrasts import standard_errors
from pydplib.clinic.intervals import (
    Estimate,
    Floats,
    around,
    holm,
    laplace_variance,
    noise_quantile,
    normal_quantile,
    plain,
    share,
)
from pydplib.clinic.printed_table import KNOWN, SPREADS, TEST, PrintedTable
from pydplib.clinic.question import PersonCounts, Result, declared_keys, key_values
from pydplib.engine import Bins, Measure, OneRow, Plan, RowCondition
from pydplib.errors import QuestionError, did_you_mean
from pydplib.release import Release, Session
from pydplib.release.grids import column_unit
from pydplib.release.results.axes import Axis
from pydplib.release.results.findings import Finding, p_text
from pydplib.release.statistics.count import CountNoise
from pydplib.release.statistics.noise import COVERAGE, Expected, Noisy
from pydplib.release.statistics.question import (
    By,
    Conditions,
    Part,
    Question,
    Words,
    even_bins,
    fill_keys,
    group_axes,
    group_dict,
    group_from,
    statistic,
    to_bins,
    to_groups,
)
from pydplib.schema import Schema

if TYPE_CHECKING:
    from pydplib.release.facts import Facts

_MEAN_BINS = 10
_MOST = 40  # variables
_LARGE = 0.1  # of the smallest arm: a margin above that hides single numbers


@statistic(
    "table one",
    aliases=("table 1",),
    noun="table 1",
    title="Table 1",
    hint="What each arm looks like: n (%), mean (SD), median [quartiles] and tests of all variables, for one price.",
    example="table one of age, pirads by bph",
    picture="table",
    most_groups=1,
    api_groups=(0, 1),
    group_labels=("By which arm?", "And by?"),
    parts=(
        Part(
            name="variables",
            kind="columns",
            form="variables",
            label="Which variables?",
            help="Fewer variables share the privacy loss, and each is more accurate.",
        ),
    ),
)
@dataclass(frozen=True, repr=False, init=False)
class TableOne(PersonCounts):
    """Table 1: every variable by arm. Categories: n (%). Numbers: mean (SD) and median [quartiles]. Tests of all.

    Values are the persons of each arm, the mean of every number and the percentage of every value; findings hold the
    rest: standard deviations, quartiles, and a chi-squared test for each variable, corrected by Holm's method over all
    of them. ``release.printed`` is the table as journals print it.

    Proof: ``PersonCounts``: one person is in one cell of the table of each variable. All tables together are one
    vector of counts, of which one person moves at most one per variable by 1; discrete Laplace noise of scale
    variables / epsilon on all cells is epsilon-DP. Where all tables count the same row of each person, those of
    missing values included, the arms have the same persons in each: the noisy counts are made to agree, by least
    squares.

    Args:
        variables: The columns, in order; or column -> number of bins of even width, or public edges (ten by default).
        by: The column of the arms; without it, one column of all persons.
        bins: Number -> how many bins, or edges, for variables that are given as a list.
        where: Conditions, all of which must hold.
        per_person: Which row of each person counts.

    Examples:
        >>> TableOne(["age", "pirads"], by="bph", bins={"age": [40, 60, 80]})
        TableOne({'age': Bins([40, 60, 80]), 'pirads': ...}, by=['bph'])
    """

    variables: tuple[tuple[str, Any], ...] = ()
    fewer = "fewer variables, wider bins"

    def __init__(
        self,
        variables: Any = (),
        *,
        by: By = None,
        bins: Mapping[str, Any] | None = None,
        where: Conditions = (),
        per_person: OneRow | None = None,
        after: Conditions = (),
    ) -> None:
        if bins is not None and not isinstance(bins, Mapping):
            raise QuestionError("bins= says which number is cut how: bins={'age': 6}.")
        named = dict(_pairs(variables))
        for name, cut in (bins or {}).items():
            if name not in named:
                raise QuestionError(f"bins= names '{name}', no variable of this table.{did_you_mean(name, named)}")
            named[name] = cut
        cuts = tuple((name, _cut(keys)) for name, keys in named.items())
        for name, value in (
            ("variables", cuts), ("by", to_groups(by)), ("where", where), ("per_person", per_person), ("after", after),
        ):  # fmt: skip
            object.__setattr__(self, name, value)
        self.__post_init__()

    def __post_init__(self) -> None:
        super().__post_init__()
        names = [name for name, _ in self.variables]
        if not names or not all(isinstance(name, str) and name for name in names):
            raise QuestionError("Table 1 needs its variables, e.g. dp.clinic.TableOne(['age', 'bph'], by='arm').")
        if len(names) > _MOST:
            raise QuestionError(f"Table 1 has at most {_MOST} variables: each more makes all others noisier.")
        if len(self.pairs) > 1 or any(name in names for name, _ in self.pairs):
            raise QuestionError("Table 1 has one column of arms, which is none of its variables: by='arm'.")

    # -- as plain values and words ---------------------------------------------------------------

    @property
    def measured(self) -> tuple[str, ...]:
        """The variables."""
        return tuple(name for name, _ in self.variables)

    def _own(self) -> dict[str, Any]:
        return {"variables": [_plain_variable(name, keys) for name, keys in self.variables]}

    @classmethod
    def _from_plain(cls, plain: dict[str, Any], by: dict[str, Any], where: list[RowCondition]) -> Question:
        listed = plain.pop("variables", None)
        if not isinstance(listed, list | tuple):
            raise QuestionError("Table 1 has the entry variables: a list of columns.")
        if not all(isinstance(entry, Mapping) and isinstance(entry.get("column"), str) for entry in listed):
            raise QuestionError("A variable of Table 1 has the entry column.")
        names = [entry["column"] for entry in listed]
        if len(set(names)) != len(names):
            raise QuestionError("Each variable of Table 1 is named once.")
        return cls({entry["column"]: _read_variable(entry) for entry in listed}, by=by, where=where, **plain)

    def canonical(self, schema: Schema) -> dict[str, Any]:
        """Return the question with the cuts of all variables filled in."""
        cuts = self.cuts(schema)
        return super().canonical(schema) | {"variables": [group_dict(name, keys) for name, keys in cuts.items()]}

    def __repr__(self) -> str:
        named = dict(self.variables)
        plain_names = all(keys is ... for keys in named.values())
        shown = repr(list(named)) if plain_names else repr(named).replace("Ellipsis", "...")
        return f"TableOne({', '.join([shown, *self._shared_reprs()])})"

    @classmethod
    def read(cls, words: Words) -> Question:
        """Read variables with commas between, the arm and conditions."""
        return cls(words.columns("table one"), by=words.by(), where=words.where())

    @classmethod
    def sentence(cls, plain: Mapping[str, Any]) -> str:
        """Return "table 1 of age, psa"."""
        return f"{cls.noun} of {', '.join(str(entry['column']) for entry in plain['variables'])}"

    @classmethod
    def headline(cls, plain: Mapping[str, Any], titles: Mapping[str, str], groups: list[str]) -> str:
        """Return "Table 1 of Age and Score by Arm"."""
        names = [titles.get(entry["column"], entry["column"]) for entry in plain["variables"]]
        listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
        return f"{cls.title} of {listed}" + (f" by {groups[0]}" if groups else "")

    @classmethod
    def from_form(
        cls,
        *,
        column: str | None,
        groups: Mapping[str, Any],
        edges: Mapping[str, Bins],
        where: Iterable[RowCondition],
        own: Mapping[str, Any],
    ) -> Question:
        """Build the question from the fields of a form."""
        return cls({name: edges.get(name, ...) for name in own.get("variables", ())}, by=groups, where=tuple(where))

    def to_form(self) -> tuple[list[tuple[str, Any]], list[str]]:
        """Return variables with their bins, and the arm."""
        found: list[tuple[str, Any]] = [("variables", name) for name in self.measured]
        return found, [name for name, _ in self.pairs]

    @property
    def cut_columns(self) -> tuple[tuple[str, Any], ...]:
        """Every column with its keys or bins, groups included."""
        return (*self.variables, *self.pairs)

    @classmethod
    def print_release(cls, release: Release, names: Mapping[str, Mapping[Any, str]] | None = None) -> PrintedTable:
        """Return the table as journals print it."""
        return PrintedTable.of(release, names)

    # -- against a schema ------------------------------------------------------------------------

    def groups(self, schema: Schema) -> dict[str, Any]:
        """Return the arms."""
        return {name: declared_keys(schema, name, keys) for name, keys in super().groups(schema).items()}

    def cuts(self, schema: Schema) -> dict[str, Any]:
        """Return the public keys or bins of every variable.

        Raises:
            QuestionError: If a column has neither.
        """
        found: dict[str, Any] = {}
        for name, keys in self.variables:
            column = schema.column(name)
            if column.is_binned and (keys is ... or isinstance(keys, int)):
                found[name] = even_bins(column, _MEAN_BINS if keys is ... else keys)
            elif isinstance(keys, int):
                raise QuestionError(f"'{name}' is no number: it has values, and no bins.")
            else:
                found[name] = declared_keys(schema, name, fill_keys(schema, name, keys))
            if isinstance(found[name], Bins) and not column.holds_numbers:
                raise QuestionError(f"'{name}' is no number: Table 1 has no mean of it. Choose another variable.")
            if found[name] is None:
                raise QuestionError(f"'{name}' has unknown values: Table 1 needs public ones.")
        return found

    def axes(self, schema: Schema, groups: Mapping[str, Any]) -> tuple[Axis, ...]:
        """Return the lines of the table, then the arms."""
        lines = ["persons"]
        for name, keys in self.cuts(schema).items():
            title = schema.column(name).title or name
            if isinstance(keys, Bins):
                lines.append(f"{title}: mean")
            else:
                lines += [f"{title}: {label}, percent" for label in Axis(name, tuple(keys)).labels]
        return (Axis("line", tuple(lines), title="Line"), *group_axes(schema, groups))

    def check_columns(self, facts: Facts) -> None:
        """Raise where an arm or a variable has one value only: nothing is compared."""
        for name, keys in facts.groups.items():
            if len(keys.keys if isinstance(keys, Bins) else keys) < 2:
                raise QuestionError(f"'{name}' has one value only: leave it out.")

    @property
    def tables(self) -> int:
        """One table for each variable."""
        return len(self.variables)

    def shapes(self, facts: Facts) -> list[tuple[int, int]]:
        """Return the shape of every table: arms by values; persons that no key takes are last, where they are known."""
        rest = int(_agree(facts))
        arms = math.prod(len(k.keys if isinstance(k, Bins) else k) + rest for k in facts.groups.values())
        cuts = self.cuts(facts.schema).values()
        return [(arms, len(keys.keys if isinstance(keys, Bins) else keys) + rest) for keys in cuts]

    def shape(self, facts: Facts) -> tuple[int, ...]:
        """Return the number of all cells."""
        return (sum(arms * size for arms, size in self.shapes(facts)),)

    def largest(self, facts: Facts) -> int:
        """Return the cells of the largest table."""
        return max(arms * size for arms, size in self.shapes(facts))

    def plans(self, facts: Facts, plan: Plan) -> tuple[Plan, ...]:
        """Return a table of arm and variable for each variable."""
        cuts = self.cuts(facts.schema)
        return tuple(facts.plan([Measure("count")], by={**facts.groups, name: keys}) for name, keys in cuts.items())

    # -- what follows from noisy counts ----------------------------------------------------------

    def result(self, facts: Facts, counts: Floats, scale: float, confidence: float) -> Result:
        """Return persons, means and percentages of every arm, and a test for every variable."""
        variance = laplace_variance(scale)
        shapes, agree = self.shapes(facts), _agree(facts)
        ends = np.cumsum([arms * size for arms, size in shapes])[:-1]
        raw = [part.reshape(shape) for part, shape in zip(np.split(counts, ends), shapes, strict=True)]
        persons, fitted = agreeing(raw) if agree else (_totals(raw), raw)
        labels = facts.axes[1].labels if len(facts.axes) > 1 else ("",)
        arms = slice(0, len(labels))
        spread = variance / sum(1 / size for _, size in shapes)
        parts = [_counted(persons[arms], spread, variance, confidence)]
        findings: list[Finding] = []
        tests: list[tuple[int, float]] = []
        for (name, keys), table, noisy in zip(self.cuts(facts.schema).items(), fitted, raw, strict=True):
            column = facts.schema.column(name)
            title, values = column.title or name, slice(0, table.shape[1] - int(agree))
            known = table[arms, values]
            real = at_least_0(known)  # what is shown: of at least 0, and percentages that sum to 100
            findings += _each(f"{title}{KNOWN}", real.sum(axis=1), labels)
            if isinstance(keys, Bins):
                middles = key_values(facts.schema, name, keys)
                shown, deviations, _ = standard_errors(real, middles, 0.0)
                parts.append(_shown(standard_errors(known, middles, variance, confidence=confidence)[0], shown.value))
                quartiles = np.array([_quartiles(row, np.asarray(keys.numbers)) for row in real]).T
                unit = column_unit(column)
                for word, numbers in zip(SPREADS, [deviations, *quartiles], strict=True):
                    findings += _each(f"{title}{word}", numbers, labels, unit=unit)
            else:
                rest, total = known.sum(axis=1, keepdims=True) - known, np.maximum(real.sum(axis=1), 1e-9)
                others = variance * max(known.shape[1] - 1, 1)
                for at in range(known.shape[1]):
                    found = share(known[:, at], rest[:, at], variance, others, confidence=confidence)
                    parts.append(_percent(_shown(found, np.minimum(real[:, at] / total, 1.0))))
            if len(labels) > 1 and known.shape[1] > 1:
                test = independence_test(noisy[arms, values], scale)
                tests.append((len(findings), test.p))
                words = "1 degree of freedom" if test.freedom == 1 else f"{test.freedom} degrees of freedom"
                findings.append(Finding(f"{title}{TEST}", test.statistic, p=test.p, words=words))
        for (at, _), adjusted in zip(tests, holm([p for _, p in tests]), strict=True):
            one, corrected = findings[at], f"after Holm's correction over {len(tests)} tests: {p_text(adjusted)}"
            findings[at] = Finding(one.name, one.value, p=one.p, words=f"{one.words}; {corrected}")
        fields = Estimate.__dataclass_fields__
        whole = Estimate(*(np.concatenate([np.ravel(getattr(part, name)) for part in parts]) for name in fields))
        return Result(whole, tuple(findings))

    def expect(self, facts: Facts, noise: CountNoise, each: float | None, *, confidence: float = COVERAGE) -> Expected:
        """Return the margin of one count, which is exact, and its expected noise in percent where that is known."""
        return replace(super().expect(facts, noise, each, confidence=confidence), margin=noise.margin(confidence))

    def notes(self, facts: Facts, noise: CountNoise, noisy: Noisy) -> tuple[str, ...]:
        """Return what a reader must know."""
        tests = sum(found.p is not None for found in noisy.findings)
        found = [
            f"Numbers are noisy counts: the noise moves each by at most {math.ceil(noise.margin(COVERAGE))} persons in "
            "95 % of all tables. Percentages are of those with a declared value; means, SDs and quartiles are read off "
            "bins."
        ]
        arms = len(facts.axes[1].keys) if len(facts.axes) > 1 else 1
        if noise.margin(COVERAGE) > _LARGE * float(noisy.values[:arms].min()):
            found.append(
                "The noise is large against these persons: read the broad picture, and no single number. Fewer "
                "variables, wider bins or more epsilon help."
            )
        if not _agree(facts) and facts.schema.max_rows_per_person > 1:
            found.append("One row of each person is picked for each variable by itself: numbers need not agree.")
        if tests == 1:
            found.append("1 test (chi-squared, bootstrap with sampling and noise).")
        if tests > 1:
            found.append(
                f"{tests} tests (chi-squared, bootstrap with sampling and noise). Of many, some look significant by "
                "chance: p (Holm) is corrected over all of them, shown or not."
            )
        return tuple(found)


def table_one(
    session: Session,
    variables: Any,
    *,
    by: str | None = None,
    epsilon: float,
    bins: Mapping[str, Any] | None = None,
    where: Conditions = (),
    per_person: OneRow | None = None,
) -> PrintedTable:
    """Return Table 1 as journals print it: ``session.release(TableOne(...)).printed``.

    Proof: ``TableOne``.

    Args:
        session: Who pays.
        variables: The columns, in order.
        by: The column of the arms; without it, one column of all persons.
        epsilon: The privacy loss of the whole table.
        bins: Number -> how many bins of even width, or public edges; ten by default.
        where: Conditions, all of which must hold.
        per_person: Which row of each person counts.

    Examples:
        >>> import pydplib as dp
        >>> rows = dp.datasets.pirads(backend="pandas")
        >>> one = dp.Person("patient_id").first_row(order="last_modified")
        >>> with dp.load(rows, dp.datasets.pirads_schema()) as table:
        ...     session = dp.Session(table, recipient="acme", budget=dp.PureDP(5))
        ...     found = table_one(session, ["age", "prostatitis"], by="bph", epsilon=2.0, per_person=one)
        >>> found.head[0], len(found.arms)
        ('', 2)
    """
    question = TableOne(variables, by=by, bins=bins, where=where, per_person=per_person)
    return PrintedTable.of(session.release(question, epsilon=epsilon))


def _pairs(variables: Any) -> list[tuple[str, Any]]:
    if isinstance(variables, Mapping):
        return list(variables.items())
    if isinstance(variables, str) or not isinstance(variables, Iterable):
        raise QuestionError("Table 1 needs a list of variables, e.g. dp.clinic.TableOne(['age', 'bph'], by='arm').")
    return [(name, ...) for name in variables]


def _cut(keys: Any) -> Any:
    """Return how a variable is cut: as the schema declares, a number of bins, public edges or keys."""
    if keys is ... or isinstance(keys, Bins) or (isinstance(keys, int) and not isinstance(keys, bool)):
        return keys
    if isinstance(keys, tuple):
        return keys
    return to_bins(keys)


def _plain_variable(name: str, keys: Any) -> dict[str, Any]:
    return {"column": name, "bins": keys} if isinstance(keys, int) else group_dict(name, keys)


def _read_variable(entry: Mapping[str, Any]) -> Any:
    return entry["bins"] if "bins" in entry else group_from(entry)


def _agree(facts: Facts) -> bool:
    """Tell whether all tables count the same row of each person, and nobody is left out of one."""
    return facts.bound.mode != "sample"


def _totals(tables: list[Floats]) -> Floats:
    """Return the persons of every arm: the totals of all tables, each by its accuracy."""
    weights = np.array([1 / table.shape[1] for table in tables])
    found: Floats = np.stack([table.sum(axis=1) for table in tables], axis=-1) @ weights / weights.sum()
    return found


def agreeing(tables: list[Floats]) -> tuple[Floats, list[Floats]]:
    """Return the persons of every arm, and the nearest tables in which every arm has that many.

    Proof: least squares with the same noise in all cells: the total of an arm is the mean of its totals, weighed by
    1 / cells, and each table spreads what it lacks evenly over its cells.

    Examples:
        >>> persons, fitted = agreeing([np.array([[6.0, 4.0]]), np.array([[5.0, 4.0, 2.0]])])
        >>> persons.round(1).tolist(), [round(float(table.sum()), 1) for table in fitted]
        ([10.4], [10.4, 10.4])
    """
    persons = _totals(tables)
    return persons, [table + ((persons - table.sum(axis=1)) / table.shape[1])[:, None] for table in tables]


def _counted(persons: Floats, spread: float, variance: float, confidence: float) -> Estimate:
    """Return numbers of persons: a sample's number varies as a Poisson number does, and the noise comes on top."""
    value = np.maximum(persons, 0.0)
    reach, finest = normal_quantile(confidence), noise_quantile(confidence, variance)
    noise = finest * math.sqrt(spread)
    both = reach * np.sqrt(value + spread + reach**2 / 4)
    low, high = np.maximum(persons - both, 0.0), np.maximum(persons, 0.0) + both + reach**2 / 2
    return Estimate(value, low, high, np.maximum(persons - noise, 0.0), np.maximum(persons + noise, value))


def _shown(found: Estimate, value: Floats) -> Estimate:
    """Return an estimate with the value that is shown, and intervals that hold it."""
    ends = (*around(value, found.low, found.high), *around(value, found.noise_low, found.noise_high))
    return Estimate(value, *ends)


def _percent(found: Estimate) -> Estimate:
    return Estimate(*(100 * np.asarray(getattr(found, name)) for name in Estimate.__dataclass_fields__))


def _each(name: str, numbers: Floats, labels: Iterable[str], **more: Any) -> list[Finding]:
    return [Finding(name, plain(number), group=label, **more) for number, label in zip(numbers, labels, strict=True)]


def at_least_0(counts: Floats) -> Floats:
    """Return the nearest counts of at least 0 with the same total, row by row.

    Proof: the nearest point of a simplex takes one number off all cells and cuts at 0; that number follows from the
    largest cells, in order.

    Examples:
        >>> at_least_0(np.array([[10.0, 2.0, -3.0, -1.0]])).tolist()
        [[8.0, 0.0, 0.0, 0.0]]
    """
    total = np.maximum(counts.sum(axis=-1, keepdims=True), 0.0)
    ordered = -np.sort(-counts, axis=-1)
    sums = np.cumsum(ordered, axis=-1)
    sizes = np.arange(1.0, counts.shape[-1] + 1)
    taken = (sums - total) / sizes
    last = np.maximum((ordered > taken).sum(axis=-1, keepdims=True) - 1, 0)
    found: Floats = np.maximum(counts - np.take_along_axis(taken, last, axis=-1), 0.0)
    return found


def _quartiles(counts: Floats, edges: Floats) -> list[float]:
    """Return the quartiles of binned values: persons are spread evenly over their bin."""
    below = np.concatenate([[0.0], np.cumsum(np.maximum(counts, 0.0))])
    if below[-1] <= 0:
        return [float(edges[0]), float(edges[0] + edges[-1]) / 2, float(edges[-1])]
    steps = below + np.arange(below.size) * 1e-9  # so that interpolation has one answer in empty bins
    return [float(np.interp(part * steps[-1], steps, edges)) for part in (0.25, 0.5, 0.75)]
