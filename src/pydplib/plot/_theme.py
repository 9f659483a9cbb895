"""One calm look for every figure: fonts, lines and colours, light and dark.

The trace colours are the same in both looks: each has a contrast of at least 3 to 1 with the
light and with the dark surface, and they stay apart for colour-blind eyes (after Okabe and Ito).
So a page can switch its look by exchanging the template alone.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from pydplib.errors import ParameterError, did_you_mean

Mode: TypeAlias = Literal["light", "dark"]

FONT = "Inter, system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"

TONES = MappingProxyType(
    {
        "original": "#7a8490",
        "low": "#0072b2",
        "medium": "#009e73",
        "high": "#d55e00",
    }
)
"""What a colour means wherever noise levels stand side by side."""

COLORWAY = ("#0072b2", "#d55e00", "#009e73", "#b5659a", "#8a7a00", "#3f8fc4", "#7a8490")
"""Colours for series without a meaning of their own, in order."""

SURFACES: MappingProxyType[str, MappingProxyType[str, str]] = MappingProxyType(
    {
        "light": MappingProxyType(
            {"surface": "#ffffff", "text": "#1f2933", "muted": "#52606d", "grid": "#e6e9ed", "axis": "#9aa5b1"}
        ),
        "dark": MappingProxyType(
            {"surface": "#171c22", "text": "#e7ebef", "muted": "#a9b4bf", "grid": "#2c343d", "axis": "#5d6975"}
        ),
    }
)
"""Mode -> surface, text and line colours; the report's style sheet uses the same."""

# The strongest colour still lets the numbers in the cells be read: a contrast of at least 4.5 to 1 everywhere.
_SCALES = {
    "light": ["#f4f8fb", "#d9e9f4", "#b9d7ea", "#93c0de", "#76aed6", "#5a9fd0"],
    "dark": ["#1d2630", "#1c3245", "#1c3f5a", "#1c4c6f", "#1d5983", "#1f6596"],
}


def tone(name: str) -> str | None:
    """Return the colour of a noise level or of the original, None for any other series.

    Examples:
        >>> tone("high")
        '#d55e00'
    """
    return TONES.get(name.lower())


def template(mode: Mode = "light") -> dict[str, Any]:
    """Return the Plotly template of the house, as plain values.

    Args:
        mode: ``"light"`` or ``"dark"``.

    Examples:
        >>> template("dark")["layout"]["paper_bgcolor"]
        '#171c22'
    """
    if mode not in SURFACES:
        raise ParameterError(f"Unknown mode '{mode}'.{did_you_mean(mode, SURFACES)}")
    look = SURFACES[mode]
    scale = [[i / (len(_SCALES[mode]) - 1), colour] for i, colour in enumerate(_SCALES[mode])]
    axis = {
        "gridcolor": look["grid"],
        "linecolor": look["axis"],
        "zerolinecolor": look["grid"],
        "zerolinewidth": 1,
        "tickcolor": look["axis"],
        "tickfont": {"size": 12, "color": look["muted"]},
        "title": {"font": {"size": 13, "color": look["text"]}, "standoff": 10},
        "automargin": True,
    }
    error = {"error_y": {"color": look["text"], "thickness": 1.3, "width": 4}}
    cells = {"colorscale": scale, "textfont": {"color": look["text"]}}
    # Marks that lie on bars and boxes: dark on light and the other way round, so that they show on every colour.
    mark = {
        "symbol": "diamond",
        "size": 9,
        "color": look["surface"],
        "line": {"width": 1.5, "color": look["text"]},
    }
    return {
        "data": {"bar": [error], "scatter": [{**error, "marker": mark}], "heatmap": [cells]},
        "layout": {
            "font": {"family": FONT, "size": 13, "color": look["text"]},
            "paper_bgcolor": look["surface"],
            "plot_bgcolor": look["surface"],
            "colorway": list(COLORWAY),
            "colorscale": {"sequential": scale},
            "xaxis": {**axis, "showgrid": False, "showline": True, "ticks": "outside", "ticklen": 4},
            "yaxis": {**axis, "showgrid": True, "showline": False},
            "legend": {
                "orientation": "h",
                "x": 0,
                "xanchor": "left",
                "y": 1,
                "yanchor": "bottom",
                "font": {"size": 12, "color": look["text"]},
                "title": {"font": {"size": 12, "color": look["muted"]}},
            },
            "title": {"font": {"size": 17, "weight": 600, "color": look["text"]}, "x": 0, "xanchor": "left"},
            "annotationdefaults": {"font": {"size": 13, "color": look["text"]}, "showarrow": False},
            "hoverlabel": {
                "bgcolor": look["surface"],
                "bordercolor": look["axis"],
                "font": {"family": FONT, "size": 13, "color": look["text"]},
            },
            "margin": {"l": 64, "r": 16, "t": 40, "b": 48},
            "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": look["axis"], "activecolor": look["text"]},
            "bargap": 0.25,
            "bargroupgap": 0.06,
            "boxgap": 0.3,
        },
    }
