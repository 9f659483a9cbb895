"""The second paper: home-made noise on records against Laplace noise on the mean, with its figures 1 to 3."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pydplib import plot
from pydplib.attack import NaiveGaussian, NaiveUniform, js_divergence
from pydplib.attack.answers.targets import RecordTarget, draw_seed
from pydplib.errors import ParameterError
from pydplib.experiments._result import Experiment, Row, Sheet
from pydplib.mechanisms import Laplace
from pydplib.noise.testing import seeded
from pydplib.release import mean

LABELS = MappingProxyType(
    {"naive_uniform": "naive uniform", "naive_gaussian": "naive Gaussian", "laplace": "Laplace (DP)"}
)
"""How the methods are called in tables and figures."""

SHORT = MappingProxyType({"naive_uniform": "uniform", "naive_gaussian": "Gaussian", "laplace": "Laplace"})
"""The same in one word."""

PAPER_MSE = MappingProxyType(
    {
        (1_000, "naive_uniform"): 4.02e-4,
        (1_000, "naive_gaussian"): 1.14e-3,
        (1_000, "laplace"): 3.22e-3,
        (10_000, "naive_uniform"): 3.25e-5,
        (10_000, "naive_gaussian"): 1.05e-4,
        (10_000, "laplace"): 3.01e-5,
        (100_000, "naive_uniform"): 3.76e-6,
        (100_000, "naive_gaussian"): 9.02e-6,
        (100_000, "laplace"): 2.53e-7,
    }
)
"""Table I as printed: (n, method) -> mean squared error."""

PAPER_JS = MappingProxyType({(1_000, "naive_uniform"): 0.1131, (1_000, "laplace"): 0.0251})
"""Fig. 3 as printed; the paper does not say for which n, and 1000 reproduces it."""

REMARKS = (
    "The Jensen-Shannon divergence is an average over all outputs. Privacy is about the worst one: an output that "
    "is possible with a person and impossible without gives that person away, however rare it is.",
    "At n = 10 000 the same divergence ranks naive uniform noise better than Laplace noise. Yet uniform noise has a "
    "bounded support and so no finite epsilon: there are outputs that exclude a data set for certain.",
    "The naive methods hand over noisy records. Each of them stands almost bare: a record of 5 to 45 is known to "
    "within 1, for everybody, whatever n is. Their divergence is small only because the mean hides single records, "
    "not because the noise does.",
    "Noise on records has an error of 1/sqrt(n), noise on the mean one of 1/n. So there is a size from which on the "
    "guarantee costs less accuracy than the home-made noise without one: at epsilon 1, n = 3200 against Gaussian and "
    "9600 against uniform noise.",
    "Laplace noise of 40/n protects one record exchanged for another, with a public n. Where n itself is private, "
    "use pydplib's default mean, which pays for the count as well.",
    "With a seed the noise comes from a repeatable source made for experiments. Releases of real data never do.",
)
"""What to know before believing the figures."""


Method = Literal["naive_uniform", "naive_gaussian", "laplace"]
METHODS: tuple[Method, ...] = ("naive_uniform", "naive_gaussian", "laplace")
LOW, HIGH = 5.0, 45.0
SIZES = (1_000, 10_000, 100_000)
REPETITIONS = 50
EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
JS_SIZES = (1_000, 10_000)
JS_DRAWS, JS_BINS, JS_DISTANCE = 5_000, 50, 15.0

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Theory:
    """The mean squared error that is to be expected of a method, and the standard error of measuring it.

    Examples:
        >>> round(Theory.of("laplace", n=1000, epsilon=1.0, repetitions=50).mse, 6)
        0.0032
    """

    mse: float
    standard_error: float

    @classmethod
    def of(cls, method: Method, *, n: int, epsilon: float, repetitions: int) -> Theory:
        """Return 1/(3n), 1/n or 2 (40/n)^2/epsilon^2, with the standard error of its mean over the repetitions.

        A squared normal error has variance 2 sigma^4; a squared Laplace error has 24 b^4 - 4 b^4 = 20 b^4.
        """
        if method == "laplace":
            scale = (HIGH - LOW) / n / epsilon
            return cls(2 * scale**2, scale**2 * math.sqrt(20 / repetitions))
        mse = 1 / (3 * n) if method == "naive_uniform" else 1 / n
        return cls(mse, mse * math.sqrt(2 / repetitions))


def crossovers(epsilon: float) -> dict[str, float]:
    """Return the sizes from which on Laplace noise on the mean beats noise on the records, by theory.

    Examples:
        >>> crossovers(1.0)
        {'naive_gaussian': 3200.0, 'naive_uniform': 9600.0}
    """
    least = 2 * (HIGH - LOW) ** 2 / epsilon**2
    return {"naive_gaussian": least, "naive_uniform": 3 * least}


def noisy_means(
    method: Method, values: Floats, *, epsilon: float, repetitions: int, rng: np.random.Generator
) -> Floats:
    """Return the mean of the values, released ``repetitions`` times by a method.

    Laplace is the library's own mean with a declared public size: sensitivity 40/n, one person exchanged.
    """
    if method == "naive_uniform":
        return NaiveUniform().means(values, repetitions, rng)
    if method == "naive_gaussian":
        return NaiveGaussian().means(values, repetitions, rng)
    with seeded(draw_seed(rng)):
        released = [mean(values, bounds=(LOW, HIGH), epsilon=epsilon, size=len(values)) for _ in range(repetitions)]
    return np.array([float(one.value) for one in released])


def _measure(method: Method, values: Floats, *, epsilon: float, repetitions: int, rng: np.random.Generator) -> Row:
    n, truth = len(values), float(values.mean())
    noisy = noisy_means(method, values, epsilon=epsilon, repetitions=repetitions, rng=rng)
    theory = Theory.of(method, n=n, epsilon=epsilon, repetitions=repetitions)
    measured = float(np.mean((noisy - truth) ** 2))
    paper = PAPER_MSE.get((n, method)) if epsilon == 1 else None
    return {
        "n": n,
        "method": method,
        "true_mean": truth,
        "average_noisy_mean": float(noisy.mean()),
        "mse": measured,
        "theory": theory.mse,
        "standard_error": theory.standard_error,
        "errors_from_theory": (measured - theory.mse) / theory.standard_error,
        "paper": paper,
        "paper_errors_from_theory": None if paper is None else (paper - theory.mse) / theory.standard_error,
    }


def divergences(n: int, *, epsilon: float, draws: int, bins: int, rng: np.random.Generator) -> dict[Method, float]:
    """Return the Jensen-Shannon divergence of every method's output with and without one record (Fig. 3).

    The record that is removed lies 15 away from the mean of the others.
    """
    others = rng.uniform(LOW, HIGH, n - 1)
    middle = float(others.mean())
    values = np.append(others, middle + JS_DISTANCE)
    found: dict[Method, float] = {}
    naive: dict[Method, RecordTarget] = {"naive_uniform": NaiveUniform(), "naive_gaussian": NaiveGaussian()}
    for method, target in naive.items():
        found[method] = js_divergence(target.means(values, draws, rng), target.means(others, draws, rng), bins=bins)
    mechanism = Laplace((HIGH - LOW) / n, epsilon, max_changes=1)
    with seeded(draw_seed(rng)):
        both = [np.asarray(mechanism.release(np.full(draws, float(data.mean())))) for data in (values, others)]
    found["laplace"] = js_divergence(both[0], both[1], bins=bins)
    return found


def run_inference(
    *,
    sizes: Sequence[int] = SIZES,
    repetitions: int = REPETITIONS,
    epsilon: float = 1.0,
    seed: int | None = None,
    js_sizes: Sequence[int] = JS_SIZES,
    draws: int = JS_DRAWS,
) -> Experiment:
    """Run the second paper's experiment again: Table I, Fig. 1, Fig. 2 and Fig. 3, next to the paper and the theory.

    Args:
        sizes: How many records, uniform on [5, 45].
        repetitions: How often each mean is released.
        epsilon: Of the Laplace noise on the mean.
        seed: For a repeatable run: the noise then comes from a test-only source.
        js_sizes: Sizes at which the divergence is measured; empty leaves Fig. 3 out.
        draws: Releases per data set for the divergence.

    Examples:
        >>> result = run_inference(sizes=[1000], repetitions=20, seed=1, js_sizes=[])
        >>> [row["method"] for row in result.rows]
        ['naive_uniform', 'naive_gaussian', 'laplace']
    """
    whole = all(int(n) == n for n in sizes)
    if not sizes or not whole or min(sizes) < 2 or repetitions < 2 or not 0 < epsilon < math.inf:
        raise ParameterError(
            "The experiment needs whole sizes of at least 2, at least 2 repetitions and a positive epsilon."
        )
    sizes = list(dict.fromkeys(int(n) for n in sizes))
    rng = np.random.default_rng(seed)
    rows = []
    for n in sizes:
        values = rng.uniform(LOW, HIGH, n)
        rows += [_measure(method, values, epsilon=epsilon, repetitions=repetitions, rng=rng) for method in METHODS]
    by_epsilon = _by_epsilon(min(sizes, key=lambda n: abs(n - 10_000)), repetitions, rng)
    js_rows = [
        {"n": int(n), "method": method, "js_bits": bits, "paper": PAPER_JS.get((int(n), method))}
        for n in js_sizes
        for method, bits in divergences(int(n), epsilon=epsilon, draws=draws, bins=JS_BINS, rng=rng).items()
    ]
    crossing = [_crossing(rows, other, expected) for other, expected in crossovers(epsilon).items()]

    def draw() -> Mapping[str, Any]:
        return draw_figures(rows, by_epsilon, js_rows, epsilon, repetitions)

    return Experiment(
        name="inference",
        title="Noise on records or noise on the answer",
        lead=(
            f"The mean of uniform data on [5, 45], released {repetitions} times with uniform or Gaussian noise on "
            f"every record, and with Laplace noise on the mean (epsilon {epsilon:g}, sensitivity 40/n)."
        ),
        settings={"seed": seed, "sizes": sizes, "repetitions": repetitions, "epsilon": epsilon},
        rows=rows,
        sheets=_sheets(rows, js_rows, crossing, repetitions),
        remarks=REMARKS,
        further={"figure_2": by_epsilon, "figure_3": js_rows, "crossovers": crossing},
        draw=draw,
    )


def _by_epsilon(n: int, repetitions: int, rng: np.random.Generator) -> list[Row]:
    keys = ("n", "method", "mse", "theory", "standard_error")
    values = rng.uniform(LOW, HIGH, n)
    rows = []
    for epsilon in EPSILONS:
        measured = _measure("laplace", values, epsilon=epsilon, repetitions=repetitions, rng=rng)
        rows.append({"epsilon": epsilon, **{key: measured[key] for key in keys}})
    for method in METHODS[:2]:  # noise on records does not know epsilon: one level line
        measured = _measure(method, values, epsilon=1.0, repetitions=repetitions, rng=rng)
        rows += [
            {"epsilon": epsilon, **{key: measured[key] for key in keys}} for epsilon in (EPSILONS[0], EPSILONS[-1])
        ]
    return rows


def _crossing(rows: Sequence[Row], other: str, expected: float) -> Row:
    """Return where the measured errors of Laplace and another method cross, on straight lines between logarithms."""
    gaps = []
    for n in sorted({row["n"] for row in rows}):
        errors = {row["method"]: row["mse"] for row in rows if row["n"] == n}
        gaps.append((math.log(n), math.log(errors["laplace"] / errors[other])))
    measured = None
    for (left, before), (right, after) in pairwise(gaps):
        if before > 0 >= after:
            measured = math.exp(left + (right - left) * before / (before - after))
    return {"against": other, "theory": expected, "measured": measured}


def _sheets(rows: list[Row], js_rows: list[Row], crossing: list[Row], repetitions: int) -> list[Sheet]:
    shown = [
        {
            **row,
            # Six digits, as in the paper: with four, a mean and its noisy release look the same.
            **{name: f"{row[name]:.4f}" for name in ("true_mean", "average_noisy_mean")},
            "method": SHORT[row["method"]],
            "errors_from_theory": round(row["errors_from_theory"], 1),
        }
        for row in rows
    ]
    sheets = [
        Sheet(
            "Table I",
            {
                "n": "n", "method": "method", "true_mean": "true mean", "average_noisy_mean": "noisy mean",
                "mse": "MSE", "theory": "theory", "standard_error": "SE", "errors_from_theory": "off",
                "paper": "paper",
            },
            shown,
            f"Mean squared error over {repetitions} releases. SE: the standard error of such a measurement; off: how "
            "many of them it lies from theory",
        ),
        Sheet(
            "Where Laplace noise on the mean begins to win",
            {"against": "against", "theory": "n by theory", "measured": "n as measured"},
            [{**row, "against": LABELS[row["against"]]} for row in crossing],
        ),
    ]  # fmt: skip
    if js_rows:
        sheets.append(
            Sheet(
                "Fig. 3: Jensen-Shannon divergence with and without one record",
                {"n": "n", "method": "method", "js_bits": "bits", "paper": "paper"},
                [{**row, "method": LABELS[row["method"]]} for row in js_rows],
                "The paper leaves its settings open; here a record 15 away from the mean is removed, in 50 shared bins",
            )
        )
    return sheets


_ERROR = {"n": "n", "method": "method", "mse": "MSE", "theory": "theory", "standard_error": "± 1 SE", "paper": "paper"}


def draw_figures(
    rows: Sequence[Row], by_epsilon: Sequence[Row], js_rows: Sequence[Row], epsilon: float, repetitions: int
) -> dict[str, tuple[plot.Figure, Sheet]]:
    """Return the figures, each with its numbers."""
    figures = {
        "figure-1": (_figure_1(rows, epsilon, repetitions), Sheet("MSE against size", _ERROR, _named(rows))),
        "figure-2": (
            _figure_2(by_epsilon),
            Sheet(
                "MSE against epsilon",
                {
                    "epsilon": "epsilon",
                    "method": "method",
                    "mse": "MSE",
                    "theory": "theory",
                    "standard_error": "± 1 SE",
                },
                _named(by_epsilon),
            ),
        ),
    }
    if js_rows:
        heads = {"n": "n", "method": "method", "js_bits": "bits", "paper": "paper"}
        figures["figure-3"] = (_figure_3(js_rows), Sheet("Jensen-Shannon divergence", heads, _named(js_rows)))
    return figures


def _named(rows: Sequence[Row]) -> list[Row]:
    return [{**row, "method": LABELS[row["method"]]} for row in rows]


def _by_size(rows: Sequence[Row], key: str) -> dict[str, list[float]]:
    """Return one number of every method, for rising sizes."""
    ordered = sorted(rows, key=lambda row: row["n"])
    return {LABELS[method]: [row[key] for row in ordered if row["method"] == method] for method in METHODS}


def _figure_1(rows: Sequence[Row], epsilon: float, repetitions: int) -> plot.Figure:
    sizes = sorted({row["n"] for row in rows})
    figure = plot.line(
        sizes,
        _by_size(rows, "mse"),
        margins=_by_size(rows, "standard_error"),
        x_title="records n",
        y_title="mean squared error of the mean",
        title="From a certain size on, the guarantee is also the more accurate choice",
        caption=(
            f"Points: {repetitions} releases each, ± 1 standard error. Lines: theory. Diamonds: the paper's values. "
            "Dotted: where Laplace noise on the mean begins to beat Gaussian (left) and uniform noise (right)."
        ),
    )
    for trace in figure.data:
        trace.mode = "markers"
    span = _between(sizes[0], sizes[-1])
    for place, method in enumerate(METHODS):
        theory = [Theory.of(method, n=round(n), epsilon=epsilon, repetitions=repetitions).mse for n in span]
        _add_line(figure, span, theory, f"{LABELS[method]}, theory", plot.COLORWAY[place], in_legend=False)
        paper = [(row["n"], row["paper"]) for row in rows if row["method"] == method and row["paper"] is not None]
        if paper:
            _add_diamonds(
                figure, [n for n, _ in paper], [value for _, value in paper], plot.COLORWAY[place], place == 0
            )
    for size in crossovers(epsilon).values():
        if sizes[0] <= size <= sizes[-1]:
            figure.add_vline(x=size, line={"dash": "dot", "width": 1, "color": "#888888"})
            figure.add_annotation(
                x=math.log10(size), y=0, xref="x", yref="paper", text=f"n = {size:,.0f}", showarrow=False,
                xanchor="right", yanchor="bottom",
            )  # fmt: skip
    figure.update_xaxes(type="log", dtick=1)
    figure.update_yaxes(type="log", exponentformat="power", dtick=1)
    return figure


def _figure_2(rows: Sequence[Row]) -> plot.Figure:
    n = rows[0]["n"]
    laplace = [row for row in rows if row["method"] == "laplace"]
    epsilons = [row["epsilon"] for row in laplace]
    name = LABELS["laplace"]
    figure = plot.line(
        epsilons,
        {name: [row["mse"] for row in laplace]},
        margins={name: [row["standard_error"] for row in laplace]},
        x_title="epsilon",
        y_title="mean squared error of the mean",
        title=f"What privacy costs in accuracy, at n = {n:,}",
        caption="Its error falls with 1/epsilon squared; noise on records knows no epsilon. ± 1 standard error.",
    )
    figure.data[0].update(mode="markers", marker={"color": plot.COLORWAY[2]}, line={"color": plot.COLORWAY[2]})
    _add_line(figure, epsilons, [row["theory"] for row in laplace], f"{name}, theory", plot.COLORWAY[2])
    for place, method in enumerate(METHODS[:2]):
        level = [row for row in rows if row["method"] == method]
        ends = [row["epsilon"] for row in level]
        _add_line(figure, ends, [row["mse"] for row in level], LABELS[method], plot.COLORWAY[place], dash="solid")
    figure.update_layout(showlegend=True)
    figure.update_xaxes(type="log", tickvals=epsilons, ticktext=[f"{value:g}" for value in epsilons])
    figure.update_yaxes(type="log", exponentformat="power", dtick=1)
    return figure


def _figure_3(rows: Sequence[Row]) -> plot.Figure:
    sizes = sorted({row["n"] for row in rows})
    return plot.bar(
        [f"n = {n:,}" for n in sizes],
        _by_size(rows, "js_bits"),
        x_title="records",
        y_title="Jensen-Shannon divergence in bits",
        title="With and without one person: how different the outputs look on average",
        caption=(
            "The paper prints 0.1131 (naive uniform) and 0.0251 (Laplace). An average says nothing about the worst "
            "output: at n = 10 000 it prefers uniform noise, which has no finite epsilon."
        ),
    )


def _add_line(
    figure: plot.Figure,
    x: Sequence[float],
    y: Sequence[float],
    name: str,
    colour: str,
    *,
    dash: str = "dash",
    in_legend: bool = True,
) -> None:
    figure.add_scatter(
        x=list(x),
        y=list(y),
        name=name,
        mode="lines",
        showlegend=in_legend,
        line={"color": colour, "width": 1.5, "dash": dash},
        hovertemplate="%{x:,.4~g}: %{y:.3~g}<extra>" + name + "</extra>",
    )


def _add_diamonds(figure: plot.Figure, x: Sequence[float], y: Sequence[float], colour: str, in_legend: bool) -> None:
    figure.add_scatter(
        x=list(x),
        y=list(y),
        name="the paper",
        legendgroup="paper",
        showlegend=in_legend,
        mode="markers",
        marker={"symbol": "diamond-open", "size": 12, "color": colour, "line": {"width": 1.5, "color": colour}},
        hovertemplate="%{x:,}: %{y:.3~g}<extra>the paper</extra>",
    )


def _between(low: float, high: float, points: int = 40) -> list[float]:
    ratio = (high / low) ** (1 / (points - 1)) if high > low else 1.0
    return [low * ratio**place for place in range(points)]
