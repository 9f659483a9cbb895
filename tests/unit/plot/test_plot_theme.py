"""Readable for everyone: contrast in both looks, and tones that colour-blind eyes can tell apart."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from pydplib import plot
from pydplib.errors import ParameterError

# Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB.
COLOUR_BLIND = {
    "none": np.eye(3),
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


def linear(colour):
    rgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def contrast(one, other):
    bright = sorted(linear(colour) @ [0.2126, 0.7152, 0.0722] for colour in (one, other))
    return (bright[1] + 0.05) / (bright[0] + 0.05)


def lab(rgb):
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ rgb
    scaled = np.cbrt(np.clip(xyz / [0.9505, 1.0, 1.089], 0, None))
    return np.array([116 * scaled[1] - 16, 500 * (scaled[0] - scaled[1]), 200 * (scaled[1] - scaled[2])])


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_text_has_contrast_of_at_least_four_and_a_half(mode):
    look = plot.SURFACES[mode]
    assert contrast(look["text"], look["surface"]) >= 7
    assert contrast(look["muted"], look["surface"]) >= 4.5


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("colour", sorted({*plot.TONES.values(), *plot.COLORWAY}))
def test_trace_colours_have_contrast_of_three_in_both_looks(mode, colour):
    assert contrast(colour, plot.SURFACES[mode]["surface"]) >= 3


@pytest.mark.parametrize("kind", sorted(COLOUR_BLIND))
def test_tones_stay_apart_for_colour_blind_eyes(kind):
    seen = {name: lab(np.clip(COLOUR_BLIND[kind] @ linear(colour), 0, 1)) for name, colour in plot.TONES.items()}
    for one, other in combinations(seen, 2):
        assert np.linalg.norm(seen[one] - seen[other]) > 12, (kind, one, other)


def test_contrast_check_finds_a_pale_colour():
    assert contrast("#f0e442", "#ffffff") < 3


def test_unknown_mode_is_refused_with_a_suggestion():
    with pytest.raises(ParameterError, match="Did you mean 'dark'"):
        plot.template("drak")


def test_figures_carry_the_house_template_and_nothing_of_plotlys():
    figure = plot.bar(["a"], {"n": [1]})
    carried = figure.layout.template.to_plotly_json()
    assert set(carried["data"]) == {"bar", "scatter", "heatmap"}
    assert tuple(carried["layout"]["colorway"]) == plot.COLORWAY
