"""The first paper's claims measured on the synthetic cohort: noise, real privacy loss, recovery, distribution."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pydplib import plot
from pydplib.attack import PaperMode, SoundMode, averaging, outlier_membership
from pydplib.attack.answers.targets import draw_seed
from pydplib.datasets import pirads
from pydplib.errors import ParameterError
from pydplib.experiments._result import Experiment, Row, Sheet
from pydplib.noise.testing import seeded
from pydplib.paper import NOISE_FACTORS, dp_calculate
from pydplib.plot.catalogue import LEVELS
from pydplib.plot.recipes.cohort import QUERIES
from pydplib.release import histogram

REMARKS = (
    "All four query types release the same noisy ages: the band fixes the scale of the noise, and the sensitivity "
    "cancels. Only the printed epsilon differs.",
    "The printed epsilon belongs to one mean or one count. What is handed over are all records, and a record loses "
    "(range) / (scale): for a mean, n times the printed epsilon.",
    "Paper mode draws fresh noise at every call and keeps no account. Sound mode gives the same answer again, so that "
    "the hundredth call tells no more than the first.",
    "Fitted to the range of the data (Eq. 4), the smallest and the largest value are always those of the private data: "
    "the oldest patient is recognised for certain at any noise.",
    "The paper says that noisy data keep the distribution. Unfitted, mean and median stay near; the shape does not: "
    "noise on records widens it. Fitted by Eq. 4 it is squeezed, and mean and median move as well. A noisy histogram "
    "keeps the shape, at a known privacy loss.",
    "Sound epsilons are those of the same percentage of noise on the statistic itself, with public n: less by a factor "
    "of a hundred and more than what a record loses in paper mode.",
    "The attacker knows the law of the noise and how ages are spread in general, and names the likeliest year. Ages "
    "have decimals here, as a date of birth gives them.",
)
"""What to know before believing the numbers."""


BOUNDS = (18.0, 100.0)
CALLS = (1, 2, 5, 10, 20, 50, 100)
BINS = 41
TOLERANCE = 1.0

Floats = NDArray[np.float64]


def run_pirads(
    *, n: int = 920, seed: int | None = None, calls: Sequence[int] = CALLS, repetitions: int = 20
) -> Experiment:
    """Measure the first paper's noise factors on ages of the synthetic cohort, paper mode against sound mode.

    For each query type and noise factor: the printed epsilon, S_f, the noise in percent and the privacy loss of a
    record; how often a patient's age is recovered to within a year from 1 to 100 calls; and how well each
    mode keeps the distribution of ages.

    Args:
        n: Synthetic reports.
        seed: Which cohort, and repeatable noise.
        calls: Numbers of calls, ascending.
        repetitions: Releases over which the errors of the distribution are averaged.

    Examples:
        >>> result = run_pirads(n=200, seed=1, calls=(1, 10), repetitions=2)
        >>> len(result.rows), sorted(result.further)
        (12, ['distribution', 'oldest_patient', 'recovery'])
    """
    if n < 50 or repetitions < 1:
        raise ParameterError("The experiment needs at least 50 reports and one repetition.")
    rng = np.random.default_rng(seed)
    data = pirads(n=n, seed=2018 if seed is None else seed, backend="numpy")
    whole = np.asarray(data["age"], dtype=np.float64)
    # Whole years plus a random part of a year: the exact age, as a date of birth gives it.
    ages = np.clip(whole + rng.random(n), *BOUNDS)
    with seeded(draw_seed(rng)):
        rows = _query_rows(ages)
    recovery = _recovery(ages, calls, rng)
    oldest = _oldest(ages, rng)
    distribution = _distribution(ages, repetitions, rng)

    def draw() -> Mapping[str, Any]:
        return draw_figures(rows, recovery, distribution)

    return Experiment(
        name="pirads",
        title="What the three noise factors are really worth",
        lead=(
            f"The ages of {n:,} synthetic PI-RADS reports at low, medium and high noise: what the paper prints, "
            "what a record really loses, what 1 to 100 calls recover, and what is left of the distribution."
        ),
        settings={"seed": seed, "n": n, "calls": list(calls), "repetitions": repetitions, "bounds": list(BOUNDS)},
        rows=rows,
        sheets=_sheets(rows, recovery, oldest, distribution, calls),
        remarks=REMARKS,
        further={"recovery": recovery, "oldest_patient": oldest, "distribution": distribution},
        draw=draw,
    )


def _query_rows(ages: Floats) -> list[Row]:
    rows = []
    for query in QUERIES:
        for level in LEVELS:
            result = dp_calculate(ages, query, level, bounds=BOUNDS)
            rows.append(
                {
                    "query": query,
                    "noise_factor": level,
                    "epsilon": float(result.epsilon),
                    "sensitivity": float(result.sensitivity),
                    "noise_percent": float(result.noise_percent),
                    "record_epsilon": float(result.record_epsilon),
                    "scale": float(result.scale),
                    "sound_epsilon": sound_epsilon(query, level, len(ages)),
                    "guarantee": type(result.guarantee).__name__,
                }
            )
    return rows


def sound_epsilon(query: str, level: str, n: int) -> float:
    """Return the epsilon at which a sound release of the same statistic has the band's noise (n public).

    Counts: asinh(1/(tau n)); means: R/n against R; medians: 2 q/(tau n) with q = 1/2; variances: R^2 (n-1)/n^2
    against R^2/12.

    Examples:
        >>> [round(sound_epsilon("mean", level, 920), 4) for level in ("low", "medium", "high")]
        [0.0435, 0.0145, 0.0072]
    """
    target = NOISE_FACTORS[level].target
    if query == "count":
        return math.asinh(1 / (target * n))
    if query == "mean":
        return 1 / (target * n)
    if query == "median":
        return 2 * 0.5 / (target * n)
    return 12 * (n - 1) / n**2 / target


def _recovery(ages: Floats, calls: Sequence[int], rng: np.random.Generator) -> list[Row]:
    rows = []
    for level in LEVELS:
        budget = sound_epsilon("mean", level, len(ages))
        for mode, target in (("paper", PaperMode(level)), ("sound", SoundMode(budget, bounds=BOUNDS))):
            result = averaging(target, ages, calls=tuple(calls), tolerance=TOLERANCE, seed=draw_seed(rng))
            rows += [
                {
                    "noise_factor": level,
                    "mode": mode,
                    "calls": count,
                    "recovered": share,
                    "base_rate": result.baseline,
                    "standard_error": math.sqrt(max(share * (1 - share), 0.25 / len(ages)) / len(ages)),
                }
                for count, share in zip(calls, result.details["success_by_calls"], strict=True)
            ]
    return rows


def _oldest(ages: Floats, rng: np.random.Generator) -> list[Row]:
    """Return how surely a planted oldest patient is recognised: fitted paper mode against a sound mean."""
    others = np.minimum(ages, 90.0)
    budget = sound_epsilon("mean", "high", len(ages))
    tried = [
        ("paper", outlier_membership(
            PaperMode("high", is_range=True), others, person=99, statistic="largest", games=40, seed=draw_seed(rng)
        )),
        ("sound", outlier_membership(
            SoundMode(budget, bounds=BOUNDS), others, person=99, games=4_000, seed=draw_seed(rng)
        )),
    ]  # fmt: skip
    return [
        {
            "mode": mode,
            "success": result.success,
            "low": result.interval[0],
            "high": result.interval[1],
            "games": result.tries,
            "sentence": result.sentence,
        }
        for mode, result in tried
    ]


def _distribution(ages: Floats, repetitions: int, rng: np.random.Generator) -> list[Row]:
    edges = np.linspace(*BOUNDS, BINS + 1)
    truth = np.histogram(ages, edges)[0] / len(ages)
    rows = []
    for level in LEVELS:
        price = math.asinh(BINS / (NOISE_FACTORS[level].target * len(ages)))
        kept: dict[str, list[dict[str, float]]] = {"paper": [], "paper, fitted": [], "sound": []}
        with seeded(draw_seed(rng)):
            for _ in range(repetitions):
                for mode, fitted in (("paper", False), ("paper, fitted", True)):
                    noisy = np.asarray(dp_calculate(ages, "mean", level, is_range=fitted).dp_data, dtype=np.float64)
                    kept[mode].append(_compare_records(ages, noisy, truth, edges))
                released = histogram(ages, edges=edges.tolist(), epsilon=price)
                kept["sound"].append(_compare_table(ages, np.asarray(released.value, dtype=np.float64), truth, edges))
        for mode, errors in kept.items():
            averaged = {key: float(np.mean([one[key] for one in errors])) for key in errors[0]}
            rows.append(
                {"noise_factor": level, "mode": mode, "epsilon": price if mode == "sound" else None, **averaged}
            )
    return rows


def _compare_records(ages: Floats, noisy: Floats, truth: Floats, edges: Floats) -> dict[str, float]:
    """Return how far noisy records lie from the truth: as binned distributions, and in mean and median."""
    shares = np.histogram(noisy, edges)[0] / len(noisy)
    outside = 1 - float(shares.sum())
    both = np.sort(np.concatenate([ages, noisy]))
    gap = np.searchsorted(np.sort(ages), both, side="right") - np.searchsorted(np.sort(noisy), both, side="right")
    return {
        "total_variation": (float(np.abs(shares - truth).sum()) + outside) / 2,
        "kolmogorov_smirnov": float(np.abs(gap).max()) / len(ages),
        "mean_error": abs(float(noisy.mean() - ages.mean())),
        "median_error": abs(float(np.median(noisy) - np.median(ages))),
    }


def _compare_table(ages: Floats, counts: Floats, truth: Floats, edges: Floats) -> dict[str, float]:
    """Return how far a noisy histogram lies from the truth, read as evenly spread people within each bin."""
    kept = keep_total(counts)
    shares = kept / kept.sum() if kept.sum() > 0 else np.full(len(truth), 1 / len(truth))
    middles = (edges[:-1] + edges[1:]) / 2
    upto = np.concatenate([[0.0], np.cumsum(shares)])
    # Against the exact distribution function at the edges: within a bin nothing was released.
    exact = np.searchsorted(np.sort(ages), edges, side="right") / len(ages)
    place = float(np.interp(0.5, upto, edges))
    return {
        "total_variation": float(np.abs(shares - truth).sum()) / 2,
        "kolmogorov_smirnov": float(np.abs(upto - exact).max()),
        "mean_error": abs(float((shares * middles).sum() - ages.mean())),
        "median_error": abs(place - float(np.median(ages))),
    }


def keep_total(counts: Floats) -> Floats:
    """Return noisy counts made non-negative by a soft threshold that keeps their total: post-processing.

    Examples:
        >>> keep_total(np.array([10.0, -2.0, 4.0])).tolist()
        [9.0, 0.0, 3.0]
    """
    total = max(0.0, float(counts.sum()))
    low, high = min(0.0, float(counts.min())), float(counts.max())
    for _ in range(60):
        middle = (low + high) / 2
        if np.maximum(counts - middle, 0).sum() > total:
            low = middle
        else:
            high = middle
    return np.asarray(np.maximum(counts - high, 0).round(9))


def _sheets(
    rows: list[Row], recovery: list[Row], oldest: list[Row], distribution: list[Row], calls: Sequence[int]
) -> list[Sheet]:
    by_calls: list[dict[str, Any]] = []
    for level in LEVELS:
        for mode in ("paper", "sound"):
            of = [row for row in recovery if row["noise_factor"] == level and row["mode"] == mode]
            by_calls.append(
                {
                    "what": f"{mode} mode, {level}",
                    "base": of[0]["base_rate"],
                    **{str(r["calls"]): r["recovered"] for r in of},
                }
            )
    return [
        Sheet(
            "What is printed, and what a record loses",
            {
                "query": "query", "noise_factor": "noise", "epsilon": "printed epsilon", "sensitivity": "S_f",
                "noise_percent": "noise %", "record_epsilon": "epsilon of a record", "sound_epsilon": "sound epsilon",
                "guarantee": "guarantee",
            },
            rows,
            "Paper mode; the last but one column is what the same percentage costs as a sound release of the statistic",
        ),
        Sheet(
            "An age recovered to within a year, by number of calls",
            {
                "what": "release", "base": "by guessing",
                **{str(count): "1 call" if count == 1 else f"{count} calls" for count in calls},
            },
            by_calls,
            "Share of patients; sound mode gives the same answer again, so calls bring nothing",
        ),
        Sheet(
            "Is the oldest patient in the data? (0.5 is a coin toss)",
            {
                "mode": "mode", "success": "told right", "low": "95 % from", "high": "to", "games": "games",
                "sentence": "in words",
            },
            oldest,
        ),
        Sheet(
            "What is left of the distribution",
            {
                "noise_factor": "noise", "mode": "mode", "epsilon": "epsilon", "total_variation": "total variation",
                "kolmogorov_smirnov": "Kolmogorov-Smirnov", "mean_error": "error of mean", "median_error": "of median",
            },
            distribution,
            f"{BINS} bins of two years; sound mode is one histogram at the epsilon of the band, errors in years",
        ),
    ]  # fmt: skip


def draw_figures(
    rows: Sequence[Row], recovery: Sequence[Row], distribution: Sequence[Row]
) -> dict[str, tuple[plot.Figure, Sheet]]:
    """Return the figures, each with its numbers."""
    return {
        "recovery": (
            _draw_recovery(recovery),
            Sheet(
                "Recovered ages",
                {
                    "noise_factor": "noise", "mode": "mode", "calls": "calls", "recovered": "recovered",
                    "base_rate": "by guessing",
                },
                recovery,
            ),
        ),
        "loss": (
            _draw_loss(rows),
            Sheet(
                "Epsilon",
                {"query": "query", "noise_factor": "noise", "epsilon": "printed", "record_epsilon": "of a record"},
                rows,
            ),
        ),
        "distribution": (
            _draw_distribution(distribution),
            Sheet(
                "Distance from the true distribution",
                {"noise_factor": "noise", "mode": "mode", "total_variation": "total variation"},
                distribution,
            ),
        ),
    }  # fmt: skip


def _draw_recovery(rows: Sequence[Row]) -> plot.Figure:
    calls = sorted({row["calls"] for row in rows})
    paper, sound = (
        {level: [row for row in rows if row["noise_factor"] == level and row["mode"] == mode] for level in LEVELS}
        for mode in ("paper", "sound")
    )
    figure = plot.line(
        calls,
        {level: [row["recovered"] for row in found] for level, found in paper.items()},
        margins={level: [1.96 * row["standard_error"] for row in found] for level, found in paper.items()},
        x_title="calls",
        y_title="ages recovered to within a year",
        title="Fresh noise at every call is averaged away; a kept answer is not",
        caption="Solid: paper mode at three noise factors, 95 % intervals. Dashed: sound mode. Dotted: guessing.",
    )
    for level, colour in zip(LEVELS, [trace.line.color for trace in figure.data], strict=True):
        figure.add_scatter(
            x=calls, y=[row["recovered"] for row in sound[level]], name=f"sound, {level}", mode="lines",
            line={"color": colour, "dash": "dash", "width": 1.5}, hovertemplate="%{x}: %{y:.2f}<extra>sound</extra>",
            showlegend=False,
        )  # fmt: skip
    base = rows[0]["base_rate"]
    figure.add_hline(y=base, line={"dash": "dot", "width": 1, "color": "#888888"})
    figure.update_xaxes(type="log", tickvals=calls, ticktext=[str(count) for count in calls])
    figure.update_yaxes(range=[0, 1.05], tickformat=".0%")
    return figure


def _draw_loss(rows: Sequence[Row]) -> plot.Figure:
    queries = list(dict.fromkeys(row["query"] for row in rows))
    high = {row["query"]: row for row in rows if row["noise_factor"] == "high"}
    figure = plot.bar(
        queries,
        {
            "printed": [high[query]["epsilon"] for query in queries],
            "of a record": [high[query]["record_epsilon"] for query in queries],
            "sound release": [high[query]["sound_epsilon"] for query in queries],
        },
        x_title="query type",
        y_title="epsilon",
        title="The printed epsilon is not what a record loses (high noise)",
        caption="Logarithmic. The last bar is a sound release of the statistic with the same percentage of noise.",
    )
    figure.update_yaxes(type="log", exponentformat="power", dtick=1)
    return figure


def _draw_distribution(rows: Sequence[Row]) -> plot.Figure:
    modes = list(dict.fromkeys(row["mode"] for row in rows))
    return plot.bar(
        list(LEVELS),
        {mode: [row["total_variation"] for row in rows if row["mode"] == mode] for mode in modes},
        x_title="noise factor",
        y_title="total variation distance",
        title="How far the released ages are from the true distribution",
        caption="0: the same; 1: nothing in common. Sound mode is one histogram at the epsilon of the band.",
    )
