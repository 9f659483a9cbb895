"""One estimate of several noisy tables: consistent, non-negative, and with margins that really cover.

Tables of counts over the same bounded rows say the same thing twice: every person is in exactly one cell of each, so
their totals, and the sums over columns that two tables share, are equal. Weighted least squares makes the noisy tables
keep that. Everything here is a function of noisy numbers and public facts: it costs no privacy.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pydplib.engine import Bins, number_bounds, public_keys
from pydplib.release.joint.cell_noise import CellNoise
from pydplib.release.joint.pair_cells import PairTerm
from pydplib.schema import Schema, same_scalar
from pydplib.schema.cells import NumberCell

Floats: TypeAlias = NDArray[np.float64]
Labels: TypeAlias = tuple[int, ...]

_RANK = 1e-9  # singular values below this are relations that others imply
_SMOOTH = 0.005  # standard deviations of the kernel that smooths a sum of integer noises
_SURE = 5.0  # standard deviations of that kernel which are added: it passes them once in a million
_PERIOD = 48.0  # standard deviations after which the noise counts as gone
_NOTHING = 1e-13  # parts of a Fourier series that do not count: all of them together are below 1e-8
_FIT_STEPS = 4000


@dataclass(frozen=True)
class Layout:
    """Tables over one set of bounded rows: the columns of each, how they are cut, and where its cells begin.

    The last cell of every column holds the rows that are in none of the others: missing, or outside the keys.

    Args:
        schema: The table's public facts.
        tables: For each table column -> public keys or ``Bins``.
    """

    schema: Schema
    tables: tuple[Mapping[str, Any], ...]

    def shape(self, table: int) -> tuple[int, ...]:
        """Return the cells of one table by column, those of all other rows included."""
        return tuple(_size(keys) + 1 for keys in self.tables[table].values())

    def relations(self) -> Floats:
        """Return orthonormal rows R with R @ cells = 0 for the exact cells of all tables, one after the other.

        Proof: two tables that can both be summed to the same coarser table (``_coarser``: the finest cut of a column
        whose cells are unions of cells of both) have the same exact sums, because every row is in one cell of each.
        """
        sizes = [math.prod(self.shape(table)) for table in range(len(self.tables))]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        atoms = {name: self._atoms(name) for name in {name for table in self.tables for name in table}}
        wanted = {()} | {self._shared(one, other, atoms) for one, other in combinations(range(len(self.tables)), 2)}
        rows = []
        for coarse in sorted(wanted):
            able = [
                (t, sums) for t in range(len(self.tables)) if (sums := self._sums(t, dict(coarse), atoms)) is not None
            ]
            for (one, first), (other, second) in pairwise(able):
                block = np.zeros((len(first), int(starts[-1])))
                block[:, starts[one] : starts[one + 1]] = first
                block[:, starts[other] : starts[other + 1]] -= second
                rows.append(block)
        if not rows:
            return np.zeros((0, int(starts[-1])))
        _, strength, basis = np.linalg.svd(np.concatenate(rows), full_matrices=False)
        found: Floats = basis[strength > _RANK]
        return found

    def sums(self, table: int, wanted: Mapping[str, Any]) -> Floats | None:
        """Return the matrix from one table's cells to those of a coarser cut, all other rows last in every column.

        None where a wanted cell is no union of the table's cells.

        Args:
            table: Which table.
            wanted: Column -> public keys or ``Bins`` of the table that is wanted.
        """
        own = self.tables[table]
        if not set(wanted) <= set(own):
            return None
        parts = []
        for name, keys in own.items():
            if name not in wanted:
                parts.append(np.ones((1, _size(keys) + 1)))
                continue
            whole = Layout(self.schema, (own, wanted))
            fine, coarse = (cut[name] for cut in (whole._cells(0), whole._cells(1)))
            part = np.zeros((_size(wanted[name]) + 1, _size(keys) + 1))
            for cell in range(_size(keys) + 1):
                inside = {coarse[atom] for atom, found in enumerate(fine) if found == cell}
                if len(inside) > 1:
                    return None
                for target in inside:
                    part[target, cell] = 1.0
            parts.append(part)
        matrix: Floats = np.ones((1, 1))
        for part in parts:
            matrix = _kron(matrix, part)
        return _in_order(matrix, [name for name in own if name in wanted], wanted)

    # -- cuts of one column ----------------------------------------------------------------------

    def _cells(self, table: int) -> dict[str, Labels]:
        atoms = {name: self._atoms(name) for name in self.tables[table]}
        return {name: atoms[name][_cut(keys)] for name, keys in self.tables[table].items()}

    def _atoms(self, name: str) -> dict[Any, Labels]:
        """Return for every cut of a column the cell of each atom: the smallest parts that all cuts keep whole."""
        cuts = {_cut(table[name]): table[name] for table in self.tables if name in table}
        if not any(isinstance(keys, Bins) for keys in cuts.values()):
            public = (*public_keys(self.schema, name), None)
            return {cut: tuple(_place(key, keys) for key in public) for cut, keys in cuts.items()}
        low, high = number_bounds(self.schema.column(name))
        least, most = (low, 0), (high, 1)  # (x, 0): just below x; (x, 1): just above it
        ends = {cut: _ends(keys) for cut, keys in cuts.items()}
        points = {min(max(end, least), most) for pairs in ends.values() for pair in pairs for end in pair}
        between = list(pairwise(sorted(points | {least, most})))
        cell = self.schema.column(name).cell
        if isinstance(cell, NumberCell) and cell.whole:  # nobody is between two whole numbers
            between = [(a, b) for a, b in between if ((math.floor(a[0]) + 1 if a[1] else math.ceil(a[0])), 1) <= b]
        found = {}
        for cut, pairs in ends.items():
            inside = [
                next((i for i, (low, high) in enumerate(pairs) if low <= a and b <= high), len(pairs))
                for a, b in between
            ]
            found[cut] = (*inside, _missing(cuts[cut]))  # the last atom is "missing"
        return found

    def _shared(
        self, one: int, other: int, atoms: Mapping[str, Mapping[Any, Labels]]
    ) -> tuple[tuple[str, Labels], ...]:
        """Return the finest table that two tables can both be summed to: (column, part of each atom)."""
        found = []
        for name in sorted(set(self.tables[one]) & set(self.tables[other])):
            coarse = _coarser(*(atoms[name][_cut(self.tables[t][name])] for t in (one, other)))
            if max(coarse) > 0:
                found.append((name, coarse))
        return tuple(found)

    def _sums(
        self, table: int, coarse: Mapping[str, Labels], atoms: Mapping[str, Mapping[Any, Labels]]
    ) -> Floats | None:
        """Return the matrix from a table's cells to those of a coarser one; None where it has no such sums."""
        own = self.tables[table]
        if not set(coarse) <= set(own):
            return None
        matrix: Floats = np.ones((1, 1))
        for name, keys in own.items():
            cells = _size(keys) + 1
            if name not in coarse:
                matrix = _kron(matrix, np.ones((1, cells)))
                continue
            labels, parts = atoms[name][_cut(keys)], coarse[name]
            part = np.zeros((max(parts) + 1, cells))
            for cell in range(cells):
                inside = {parts[atom] for atom, found in enumerate(labels) if found == cell}
                if len(inside) > 1:
                    return None
                for target in inside:
                    part[target, cell] = 1.0
            matrix = _kron(matrix, part)
        found: Floats = _in_order(matrix, [name for name in own if name in coarse], coarse, extra=0)
        return found


def _in_order(matrix: Floats, names: list[str], wanted: Mapping[str, Any], *, extra: int = 1) -> Floats:
    """Return rows in the order of the wanted columns; they are in that of ``names``."""
    if not names:
        return matrix
    sizes = {name: (_size(keys) + 1 if extra else max(keys) + 1) for name, keys in wanted.items()}
    shaped = matrix.reshape(*(sizes[name] for name in names), matrix.shape[1])
    order = [names.index(name) for name in wanted]
    found: Floats = shaped.transpose(*order, len(names)).reshape(matrix.shape)
    return found


def _kron(one: Floats, other: Floats) -> Floats:
    return np.asarray(np.kron(one, other), dtype=np.float64)


def _size(keys: Any) -> int:
    return len(keys.keys if isinstance(keys, Bins) else keys)


def _cut(keys: Any) -> Any:
    """Return what tells two cuts of a column apart."""
    return keys.numbers if isinstance(keys, Bins) else tuple((type(key).__name__, key) for key in keys)


def _place(key: Any, keys: Sequence[Any]) -> int:
    return next((i for i, listed in enumerate(keys) if _same(key, listed)), len(keys))


def _same(one: Any, other: Any) -> bool:
    return one is other if one is None or other is None else bool(same_scalar(one, other))


def _ends(keys: Bins | Sequence[Any]) -> list[tuple[tuple[float, int], tuple[float, int]]]:
    """Return where each cell of a cut of numbers begins and ends; a key is a number by itself, "missing" is nowhere."""
    if not isinstance(keys, Bins):
        return [((at, 0), (at, 1)) for at in (math.inf if key is None else float(key) for key in keys)]
    numbers = keys.numbers
    last = len(numbers) - 2
    return [((a, 0), (b, 1 if i == last else 0)) for i, (a, b) in enumerate(pairwise(numbers))]


def _missing(keys: Bins | Sequence[Any]) -> int:
    """Return the cell of missing values: a key of its own where it is listed, else that of all other rows."""
    return len(keys.keys) if isinstance(keys, Bins) else _place(None, keys)


def _coarser(one: Labels, other: Labels) -> Labels:
    """Return the finest parts of the atoms that keep the cells of both cuts whole, numbered as they appear.

    Examples:
        >>> _coarser((0, 0, 1, 2), (0, 1, 2, 2))
        (0, 0, 1, 1)
    """
    part = list(range(len(one)))
    for labels in (one, other):
        first: dict[int, int] = {}
        for atom, label in enumerate(labels):
            if label in first:
                old, new = part[atom], part[first[label]]
                part = [new if found == old else found for found in part]
            else:
                first[label] = atom
    names = {found: i for i, found in enumerate(dict.fromkeys(part))}
    return tuple(names[found] for found in part)


def estimator(relations: Floats, variances: Floats, spread: Floats | None = None) -> Floats:
    """Return the matrix of weighted least squares under the relations: estimate = matrix @ noisy cells.

    Proof: with S the covariance of the noise, x = y - S R' (R S R')^-1 R y is the point with R x = 0 that is nearest
    to y when squares are divided by their variances. Relations that the noise keeps by itself need no estimate and are
    left out (``open_relations``). It is linear and unbiased where R x = 0 holds for the exact
    cells, and no linear unbiased estimate has a smaller variance in any cell or sum of cells (Gauss and Markov).

    Args:
        relations: Rows R.
        variances: The variance of each cell's noise.
        spread: R S, where the noise of cells depends on each other; by default it does not.

    Examples:
        >>> estimator(np.array([[1.0, -1.0]]) / 2**0.5, np.array([1.0, 3.0])).round(3).tolist()
        [[0.75, 0.25], [0.75, 0.25]]
    """
    if not len(relations):
        return np.eye(len(variances))
    spread = relations * variances if spread is None else spread
    found: Floats = np.eye(len(variances)) - spread.T @ np.linalg.solve(spread @ relations.T, relations)
    return found


def open_relations(relations: Floats, spread: Floats) -> Floats:
    """Return the relations that the noise does not keep by itself, as orthonormal rows.

    Args:
        relations: Orthonormal rows R.
        spread: R S, with S the covariance of the noise: relations in which nothing varies are kept.
    """
    if not len(relations):
        return relations
    strength, basis = np.linalg.eigh(spread @ relations.T)
    found: Floats = basis[:, strength > _RANK * max(float(strength.max()), 1e-300)].T @ relations
    return found


def fit_non_negative(estimate: Floats, matrix: Floats) -> Floats:
    """Return the consistent cells of at least 0 that are nearest to an estimate, by Dykstra's projections.

    Examples:
        >>> both = estimator(np.array([[1.0, 1.0, -1.0]]) / 3**0.5, np.ones(3))
        >>> fit_non_negative(both @ np.array([10.0, -2.0, 8.0]), both).round(3).tolist()
        [9.0, 0.0, 9.0]
    """
    cells, owed = estimate.copy(), np.zeros_like(estimate)
    for _ in range(_FIT_STEPS):
        above = np.maximum(cells + owed, 0.0)
        owed = cells + owed - above
        cells = matrix @ above
        if cells.min() > -1e-5:
            break
    found: Floats = np.maximum(cells, 0.0)
    return found


@dataclass(frozen=True, slots=True)
class Term:
    """Noises of one kind and size that enter a sum with one weight.

    Args:
        weight: The weight, positive.
        noise: What each is like, in steps.
        per_row: Steps per row.
        count: How many of them.
    """

    weight: float
    noise: CellNoise
    per_row: int
    count: int


def terms_of(weights: Floats, noises: Sequence[CellNoise], per_row: Sequence[int]) -> tuple[Term, ...]:
    """Return the noises of one weighted sum of cells, equal ones together.

    Args:
        weights: The weight of each cell's noise.
        noises: Each cell's noise, in steps.
        per_row: The steps of one row in each cell.
    """
    names = {id(noise): noise for noise in noises}  # cells of a table share one: comparing fractions takes long
    counted: dict[tuple[float, int, int], int] = {}
    for key in zip(np.abs(weights).round(7).tolist(), map(id, noises), per_row, strict=True):
        counted[key] = counted.get(key, 0) + 1
    found: dict[tuple[float, CellNoise, int], int] = {}
    for (weight, name, steps), count in counted.items():
        if weight:
            found[weight, names[name], steps] = found.get((weight, names[name], steps), 0) + count
    order = sorted(found.items(), key=lambda item: (item[0][0], item[0][1].kind, item[0][1].spread, item[0][2]))
    return tuple(Term(*key, count) for key, count in order)


@lru_cache(maxsize=4096)
def sum_margin(terms: tuple[Term, ...], miss: float, pairs: tuple[PairTerm, ...] = ()) -> float:
    """Return a margin that a sum of integer noises passes with a chance of at most ``miss``.

    Proof: one noise of weight 1 has its exact margin. Of several, let G be a normal variable with a two-hundredth of
    the sum's standard deviation. The chance of |sum + G| <= x is a Fourier series of the product of the characteristic
    functions (``CellNoise.log_transform``), which the kernel makes short; its period is so long that nothing of the sum
    reaches beyond it. With x its quantile, |sum| <= x + 5 sd(G) but for miss + 6e-7. A margin is
    therefore at most 3 % too wide, and never too narrow. Gaussian quantiles would be: few Laplace noises have far
    heavier tails. Noise shaped for two tables enters by its continuous law with the exact variance
    (``PairTerm.transform``); half a step is added, because the noise itself is whole. For that part no bound is
    proved: replays show that such margins cover what they say (``tests/unit/release/test_pair_tables.py``).

    Args:
        terms: Independent noises.
        miss: The chance.
        pairs: Sums of the noise of blocks of two tables, independent of each other and of the terms.

    Examples:
        >>> from pydplib.release.joint.cell_noise import LaplaceCells
        >>> one = Term(1.0, LaplaceCells(Fraction(1)), 1, 1)
        >>> sum_margin((one,), 0.05)
        3.0
        >>> two = Term(1.0, LaplaceCells(Fraction(2**16)), 2**16, 2)
        >>> round(sum_margin((two,), 0.05), 1)  # two of scale 1: 4.11, and a trifle
        4.2
    """
    if not terms and not pairs:
        return 0.0
    if len(terms) == 1 and terms[0].count == 1 and not pairs:
        only = terms[0]
        return only.weight * only.noise.tail_steps(miss) / only.per_row
    sizes = [(term.weight / term.per_row, term.noise, term.count) for term in terms]
    largest = max([*(step for step, _, _ in sizes), *(pair.largest for pair in pairs)])
    variance = sum(many * step**2 * noise.variance for step, noise, many in sizes)
    variance += sum(pair.count * pair.variance for pair in pairs)
    width = math.sqrt(max(variance, 0.25 * largest**2))
    kernel = _SMOOTH * width
    turn = 2 * math.pi / (_PERIOD * width)
    times: Floats = turn * np.arange(1, math.ceil(6 / kernel / turn) + 1, dtype=np.float64)
    log: Floats = -0.5 * (kernel * times) ** 2
    for step, noise, many in sizes:
        log = log + many * noise.log_transform(np.asarray(step * times, dtype=np.float64))
    weights = 2 / math.pi * np.exp(log) / np.arange(1, len(times) + 1)
    for pair in pairs:
        seen = np.flatnonzero(np.abs(weights) > _NOTHING)  # the rest has no part in the sum
        changed = np.zeros_like(weights)
        changed[seen] = weights[seen] * pair.transform(times[seen]) ** pair.count
        weights = changed
    low, high = 0.0, _PERIOD * width / 2
    for _ in range(40):
        middle = (low + high) / 2
        inside = 2 * middle / (_PERIOD * width) + float((weights * np.sin(middle * times)).sum())
        low, high = (low, middle) if inside >= 1 - miss else (middle, high)
    return high + _SURE * kernel + max((pair.largest / 2 for pair in pairs), default=0.0)


def best_shares(
    relations: Floats,
    spread: Floats,
    variances: Floats,
    units: NDArray[np.int64],
    wanted: Floats,
    *,
    power: int = 2,
    rounds: int = 40,
) -> tuple[tuple[Fraction, ...], float]:
    """Return how epsilon is split so that the largest error, relative to the table alone, is smallest; and that error.

    A table whose sums others tell anyhow gets less than one that stands alone. Shares are multiplied by their relative
    error until the errors meet, rounded to ten-thousandths; they sum to 1. Any split is as private: this one follows
    from public facts.

    Args:
        relations: What the exact cells keep, of all cells; none that the noise keeps by itself.
        spread: ``relations`` times the covariance of the noise if every unit had all of epsilon.
        variances: The variance of each cell's noise, likewise.
        units: What each cell is part of that gets a share: a table, or two with one noise.
        wanted: The error of each cell that counts as 1.
        power: How the variance falls with a share: 2 for shares of epsilon (Laplace), 1 for shares of rho (Gaussian).
        rounds: How often the shares are adjusted.
    """
    number = int(units.max()) + 1
    relative = np.sqrt(variances) / wanted
    share = np.array([relative[units == unit].max() for unit in range(number)])
    share = share / share.sum()
    best, least = share, math.inf
    for _ in range(rounds if number > 1 else 1):
        larger = (1 / share**power)[units]
        scaled = spread * larger
        gain = np.zeros(len(units))
        if len(relations):
            gain = np.einsum("ij,ij->j", scaled, np.linalg.solve(scaled @ relations.T, scaled))
        error = np.sqrt(np.maximum(variances * larger - gain, 0.0)) / wanted
        worst = np.array([error[units == unit].max() for unit in range(number)])
        if worst.max() < least:
            best, least = share, float(worst.max())
        share = np.maximum(share * (worst / worst.max()) ** (1 / power), 2e-3 / number)
        share = share / share.sum()
    whole = np.maximum(np.floor(best * 10_000).astype(int), 1)
    whole[int(np.argmax(whole))] += 10_000 - int(whole.sum())
    return tuple(Fraction(int(part), 10_000) for part in whole), least
