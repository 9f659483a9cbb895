"""Figures of anonymization: risk histogram, class sizes, loss per column, risk against loss, the lattice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydplib.errors import ParameterError
from pydplib.plot._figure import Figure, go
from pydplib.plot._parts import empty_figure, faint, set_narrow
from pydplib.plot._series import bar, line
from pydplib.plot._theme import COLORWAY, TONES

if TYPE_CHECKING:
    from pydplib.anonymity import AnonymizationResult, ColumnChange, Lattice, LatticeNode, Loss, Risk

OWNER = "Shows exact numbers of the original as well: for the data owner only."
# Smallest and largest class of a bin, and the chances of re-identification 1/size that it stands for. The edges are
# the usual thresholds of 20, 9 and 5 %.
CHANCES: tuple[tuple[int, float, str], ...] = (
    (1, 1, "100 %"),
    (2, 2, "50 %"),
    (3, 4, "25 to 33 %"),
    (5, 11, "9 to 20 %"),
    (12, 19, "5.3 to 8.3 %"),
    (20, float("inf"), "5 % or less"),
)
_EDGES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class RiskLossPoint:
    """What one k costs: a point of the risk-utility frontier.

    Attributes:
        k: The k that was asked for.
        risk: Highest chance of re-identification that was left, between 0 and 1.
        expected: The mean chance.
        loss: Granularity loss, between 0 and 1.
        suppressed: Share of the rows that were left out.

    Examples:
        >>> RiskLossPoint(k=5, risk=0.2, expected=0.03, loss=0.27, suppressed=0.05).k
        5
    """

    k: int
    risk: float
    expected: float
    loss: float
    suppressed: float


def chance_shares(risk: Risk) -> list[float]:
    """Return the share of people (in %) per bin of ``CHANCES``."""
    return [_share(risk.class_sizes, low, high) for low, high, _ in CHANCES]


def size_bins(*risks: Risk) -> list[tuple[int, float, str]]:
    """Return bins of class sizes (smallest, largest, label) that cover all classes of the risks."""
    largest = max((size for risk in risks for size in risk.class_sizes), default=1)
    out: list[tuple[int, float, str]] = []
    for low, following in zip(_EDGES, (*_EDGES[1:], float("inf")), strict=True):
        if low <= largest:
            high = float(following - 1)
            label = f"{low:,}+" if high == float("inf") else f"{low}" if high == low else f"{low}–{high:.0f}"
            out.append((low, high, label))
    return out


def count_classes(risk: Risk, bins: Sequence[tuple[int, float, str]]) -> list[int]:
    """Return the number of classes per bin."""
    return [sum(n for size, n in risk.class_sizes.items() if low <= size <= high) for low, high, _ in bins]


def _share(sizes: Mapping[int, int], low: float, high: float) -> float:
    total = sum(size * n for size, n in sizes.items()) or 1
    return 100 * sum(size * n for size, n in sizes.items() if low <= size <= high) / total


def risk_histogram(after: Risk, *, before: Risk | None = None, title: str = "", caption: str = "") -> Figure:
    """Return how many people have which chance of being found, as bars.

    Args:
        after: Risk of the table that is released.
        before: For the owner's eyes only: risk of the original.
        title: What the figure shows.
        caption: What is guaranteed about it, in words.

    Examples:
        >>> import pandas as pd
        >>> from pydplib.anonymity import risk
        >>> risk_histogram(risk(pd.DataFrame({"age": [30, 30, 41, 41]}), ["age"])).data[0].y
        (0.0, 100.0, 0.0, 0.0, 0.0, 0.0)
    """
    return _compared(
        [label for _, _, label in CHANCES],
        None if before is None else chance_shares(before),
        chance_shares(after),
        x_title="chance of being found",
        y_title="people in %",
        title=title or "How easily people can be found",
        caption=caption,
    )


def class_sizes(after: Risk, *, before: Risk | None = None, title: str = "", caption: str = "") -> Figure:
    """Return how large the classes of people who look alike are, as bars.

    Args:
        after: Risk of the table that is released.
        before: For the owner's eyes only: risk of the original.
        title: What the figure shows.
        caption: What is guaranteed about it, in words.

    Examples:
        >>> import pandas as pd
        >>> from pydplib.anonymity import risk
        >>> class_sizes(risk(pd.DataFrame({"age": [30, 41, 41, 52, 52, 63, 63, 74, 74]}), ["age"])).data[0].y
        (20.0, 80.0)
    """
    bins = size_bins(after, *([] if before is None else [before]))
    # Shares, because the original has many more classes than the release.
    figure = _compared(
        [label for _, _, label in bins],
        None if before is None else _shares(count_classes(before, bins)),
        _shares(count_classes(after, bins)),
        x_title="people in a class",
        y_title="classes in %",
        title=title or "How many people look alike",
        caption=caption,
    )
    return _slanted(figure)


def _compared(
    labels: Sequence[str],
    before: Sequence[float] | None,
    after: Sequence[float],
    *,
    x_title: str,
    y_title: str,
    title: str,
    caption: str,
) -> Figure:
    """Return bars of the release, next to those of the original where the owner gave it."""
    series = {} if before is None else {"original": before}
    words = caption or (OWNER if before is not None else "")
    figure = bar(labels, {**series, "released": after}, x_title=x_title, y_title=y_title, title=title, caption=words)
    figure.data[-1].marker.color = COLORWAY[0]
    return figure


def _shares(counts: Sequence[int]) -> list[float]:
    total = sum(counts) or 1
    return [100 * count / total for count in counts]


def _slanted(figure: Figure) -> Figure:
    """Set long labels aslant on narrow screens, where they would run into each other."""
    labels = [str(label) for label in figure.data[0].x]
    if sum(len(label) + 2 for label in labels) > 36:
        axis = {"tickangle": -40, "tickvals": labels, "ticktext": labels}
        set_narrow(figure, {**figure.layout.meta["narrow"], "xaxis": axis})
    return figure


def column_change(change: ColumnChange, *, title: str = "", caption: str = "") -> Figure:
    """Return the distribution of one column before and after, as bars.

    Args:
        change: As ``pydplib.anonymity.compare_columns`` returns it. For the owner's eyes.
        title: What the figure shows.
        caption: What is said under it.

    Examples:
        >>> from pydplib.anonymity import ColumnChange
        >>> bins = ("1st", "2nd")
        >>> change = ColumnChange(column="sex", role="kept", bins=bins, before=(0.6, 0.4), after=(0.5, 0.5))
        >>> column_change(change).data[0].y
        (60.0, 40.0)
    """
    numbers = change.bins[0] != "1st"
    figure = _compared(
        list(change.bins),
        [100 * share for share in change.before],
        [100 * share for share in change.after],
        x_title="" if numbers else "values by frequency in the original",
        y_title="rows in %",
        title=title or f"{change.column}: {100 * change.distance:.3g} % apart",
        caption=caption or f"What a coarse label covers is spread evenly over it. {OWNER}",
    )
    return _slanted(figure)


def loss_per_column(loss: Loss, *, title: str = "", caption: str = "") -> Figure:
    """Return how much of every quasi-identifier was lost, as bars.

    Args:
        loss: Of an anonymization.
        title: What the figure shows.
        caption: What is guaranteed about it, in words.

    Examples:
        >>> from pydplib.anonymity import Loss
        >>> columns = {"age": 0.25}
        >>> loss = Loss(
        ...     granularity=0.1, precision=0.2, entropy=0.3, discernibility=90, class_size=1.2, ncp=0.1, columns=columns
        ... )
        >>> loss_per_column(loss).data[0].y
        (25.0,)
    """
    figure = bar(
        list(loss.columns),
        {"loss": [100 * value for value in loss.columns.values()]},
        y_title="loss in %",
        title=title or "How much of every column was lost",
        caption=caption or "0 %: every value is as it was. 100 %: nothing of the column is left.",
    )
    figure.update_yaxes(range=[0, max(5.0, *(108 * value for value in loss.columns.values()))])
    return _slanted(figure)


def risk_utility(
    points: Sequence[RiskLossPoint], *, chosen: int | None = None, title: str = "", caption: str = ""
) -> Figure:
    """Return the frontier between risk and loss: what every k leaves of the risk, and what it costs.

    Args:
        points: One per k; see ``RiskLossPoint``.
        chosen: The k that was taken, which is marked.
        title: What the figure shows.
        caption: What is guaranteed about it, in words.

    Examples:
        >>> points = [
        ...     RiskLossPoint(k=2, risk=0.5, expected=0.1, loss=0.17, suppressed=0.05),
        ...     RiskLossPoint(k=5, risk=0.2, expected=0.03, loss=0.27, suppressed=0.05),
        ... ]
        >>> risk_utility(points, chosen=5).data[0].x
        (50.0, 20.0)
    """
    if not points:
        raise ParameterError("risk_utility needs at least one point.")
    groups: dict[tuple[float, float], list[RiskLossPoint]] = {}
    for point in sorted(points, key=lambda point: point.k):
        groups.setdefault((point.risk, point.loss), []).append(point)
    # Several k can have the same best table: one mark with all their names.
    ordered = [group[-1] for group in groups.values()]
    names = ["k = " + ", ".join(str(point.k) for point in group) for group in groups.values()]
    risks, losses = [100 * point.risk for point in ordered], [100 * point.loss for point in ordered]
    figure = line(
        risks,
        {"frontier": losses},
        x_title="highest chance of being found, in % (logarithmic)",
        y_title="granularity loss in %",
        title=title or "What less risk costs",
        caption=caption
        or "Every point is the best table for one k. Further left is safer, further down is more useful.",
    )
    figure.data[0].update(
        mode="lines+markers+text",
        text=names,
        # Neighbours lie close on a phone: their names stand on either side of the falling line in turn.
        textposition=[("top right", "bottom left")[place % 2] for place in range(len(ordered))],
        cliponaxis=False,
        customdata=[
            [name, 100 * point.suppressed, 100 * point.expected] for name, point in zip(names, ordered, strict=True)
        ],
        hovertemplate=(
            "%{customdata[0]}: highest chance %{x:.3~g} %, mean %{customdata[2]:.3~g} %, loss %{y:.3~g} %, "
            "%{customdata[1]:.3~g} % of the rows left out<extra></extra>"
        ),
    )
    for point in points:
        if point.k == chosen:
            mark = {"symbol": "diamond", "size": 13, "color": TONES["high"], "line": {"width": 0}}
            spot = {"x": [100 * point.risk], "y": [100 * point.loss], "marker": mark, "hoverinfo": "skip"}
            figure.add_trace(go.Scatter(**spot, mode="markers", name="chosen", cliponaxis=False))
    ticks = [tick for tick in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100) if min(risks) * 0.7 <= tick <= max(risks) * 1.5]
    figure.update_xaxes(type="log", tickvals=ticks, ticktext=[f"{tick:g}" for tick in ticks])
    figure.update_yaxes(range=[-0.06 * max(losses), max(5.0, 1.15 * max(losses))])
    figure.update_layout(showlegend=False, margin={"r": 40})
    return figure


def lattice(found: Lattice, *, title: str = "", caption: str = "") -> Figure:
    """Return the lattice of a small search: every combination of levels, from the original up to "*".

    Args:
        found: As ``pydplib.anonymity.lattice_of`` returns it. For the owner's eyes.
        title: What the figure shows.
        caption: What is guaranteed about it, in words.

    Examples:
        >>> from pydplib.anonymity import Lattice, LatticeNode
        >>> nodes = (LatticeNode((0,), None, 0.4, False), LatticeNode((1,), 0.1, 0.0, True))
        >>> [trace.name for trace in lattice(Lattice(("age",), (1,), nodes, "granularity")).data[1:]]
        ['models fail', 'chosen']
    """
    place = _places(found)
    figure = empty_figure("", "levels above the original", "", "", 460)
    figure.add_trace(_edges(found, place))
    figure.add_traces(_points(found, place))
    figure.update_xaxes(showticklabels=False, ticks="", showline=False, zeroline=False)
    figure.update_yaxes(dtick=1 if sum(found.heights) <= 12 else 2, zeroline=False)
    words = caption or (
        f"One point per combination of levels of {', '.join(found.columns)}; lines lead one level up. {OWNER}"
    )
    figure.update_layout(
        showlegend=True, margin={"b": 20}, meta={"title": title or "Where the released table lies", "caption": words}
    )
    return figure


def _edges(found: Lattice, place: Mapping[tuple[int, ...], tuple[float, float]]) -> Any:
    """Return the lines that lead from every combination of levels one level up."""
    edges: tuple[list[float | None], list[float | None]] = ([], [])
    for node in found.nodes:
        for above in _parents(node.levels, found.heights):
            for axis, (start, end) in zip(edges, zip(place[node.levels], place[above], strict=True), strict=True):
                axis.extend((start, end, None))
    style = {"color": faint(TONES["original"], 0.35 if len(found.nodes) <= 80 else 0.2), "width": 1}
    return go.Scatter(x=edges[0], y=edges[1], mode="lines", line=style, hoverinfo="skip", showlegend=False)


def _points(found: Lattice, place: Mapping[tuple[int, ...], tuple[float, float]]) -> list[Any]:
    """Return the combinations of levels as points: where the models fail, where they hold, and the chosen one."""
    rows = [y for _, y in place.values()]
    size = max(5, min(14, round(260 / max(rows.count(row) for row in set(rows)))))
    grey = faint(TONES["original"], 0.55)
    kinds: tuple[tuple[str, dict[str, Any], list[LatticeNode]], ...] = (
        (
            "models fail",
            {"symbol": "circle", "color": grey, "size": max(size - 2, 4)},
            [node for node in found.nodes if node.loss is None],
        ),
        (
            "models hold",
            {"symbol": "circle", "color": COLORWAY[0], "size": size},
            [node for node in found.nodes if node.loss is not None and not node.chosen],
        ),
        (
            "chosen",
            {"symbol": "diamond", "color": TONES["high"], "size": size + 5},
            [node for node in found.nodes if node.chosen],
        ),
    )
    return [
        go.Scatter(
            x=[place[node.levels][0] for node in nodes],
            y=[place[node.levels][1] for node in nodes],
            text=[_say(node, found) for node in nodes],
            name=name,
            mode="markers",
            marker={**marker, "line": {"width": 0}},
            hovertemplate="%{text}<extra></extra>",
            cliponaxis=False,
        )
        for name, marker, nodes in kinds
        if nodes
    ]


def _places(found: Lattice) -> dict[tuple[int, ...], tuple[float, float]]:
    rows: dict[int, list[tuple[int, ...]]] = {}
    for node in found.nodes:
        rows.setdefault(sum(node.levels), []).append(node.levels)
    return {
        levels: (place - (len(row) - 1) / 2, float(height))
        for height, row in rows.items()
        for place, levels in enumerate(row)
    }


def _parents(levels: tuple[int, ...], heights: tuple[int, ...]) -> list[tuple[int, ...]]:
    return [
        (*levels[:i], level + 1, *levels[i + 1 :])
        for i, (level, height) in enumerate(zip(levels, heights, strict=True))
        if level < height
    ]


def _say(node: LatticeNode, found: Lattice) -> str:
    levels = ", ".join(f"{name} {level}" for name, level in zip(found.columns, node.levels, strict=True))
    if node.loss is None:
        return f"{levels}<br>at least {100 * node.suppressed:.3g} % would be suppressed"
    return f"{levels}<br>{found.measure} {node.loss:.4g}, {100 * node.suppressed:.3g} % suppressed"


def draw_anonymization(result: AnonymizationResult, *, original: Any = None, title: str = "") -> Figure:
    """Return the risk histogram of a release, with its guarantee as the caption.

    Args:
        result: What ``anonymize`` returned.
        original: For the owner's eyes only: anything true draws the risk before anonymization next to it.
        title: What the figure shows.
    """
    words = [result.certificate.guarantee.sentence, *([OWNER] if original else [])]
    before = result.risk.before if original else None
    return risk_histogram(result.risk.after, before=before, title=title, caption=" ".join(words))
