"""Contrast of every pair of words and ground, computed from the style sheet, in both looks (WCAG 2.2 AA)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import pydplib.web.design
from pydplib import plot

STATIC = Path(pydplib.web.design.__file__).parent / "static" / "pydplib"
TOKENS = (STATIC / "tokens.css").read_text("utf-8")
SHEETS = sorted(path for path in STATIC.parents[2].rglob("*.css") if "vendor" not in path.parts)
LOOKS = ("light", "dark")

GROUNDS = ("ground", "surface", "raised", "sunken", "hover")
TONES = ("info", "good", "warning", "danger", "neutral")
# Words: 4.5 to 1.
WORDS = [
    *[(ink, ground) for ink in ("text", "muted", "accent", "accent-strong") for ground in GROUNDS],
    *[("text", f"{tone}-soft") for tone in TONES],
    *[(f"{tone}-ink", f"{tone}-soft") for tone in TONES],
    *[(f"{tone}-ink", ground) for tone in TONES for ground in ("ground", "surface", "raised")],
    ("on-accent", "accent"),
    ("on-accent", "accent-strong"),
    ("on-danger", "danger-fill"),
    ("on-danger", "danger-strong"),
    ("accent", "accent-soft"),
    ("accent-strong", "accent-soft"),
    ("danger-ink", "danger-soft"),
]
# Edges of controls, the focus ring, bars: 3 to 1.
SHAPES = [
    *[(edge, ground) for edge in ("control-line", "focus") for ground in ("ground", "surface", "raised")],
    *[(f"{tone}-edge", f"{tone}-soft") for tone in TONES if tone != "neutral"],
    *[(f"{tone}-edge", "surface") for tone in TONES],
    ("accent", "neutral-soft"),
    ("warning-edge", "neutral-soft"),
    *[(f"noise-{level}", "surface") for level in ("original", "low", "medium", "high")],
]
# Lines that only part what is apart by its place anyway, and shades: no contrast is asked for.
WITHOUT = {"line"}


def read_tokens(css: str) -> dict[str, dict[str, str]]:
    """Return name -> look -> colour of every token that is a plain colour."""
    found: dict[str, dict[str, str]] = {}
    for name, light, dark in re.findall(r"--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);", css):
        found[name] = {"light": light, "dark": dark}
    for name, colour in re.findall(r"--([\w-]+): (#[0-9a-f]{6});", css.split("@media print")[0]):
        found[name] = {"light": colour, "dark": colour}
    return found


def contrast(one: str, other: str) -> float:
    def luminance(colour: str) -> float:
        parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize(("ink", "ground"), WORDS)
def test_words_on_every_ground_have_contrast_of_at_least_four_and_a_half(ink: str, ground: str, look: str) -> None:
    tokens = read_tokens(TOKENS)
    assert contrast(tokens[ink][look], tokens[ground][look]) >= 4.5


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize(("shape", "ground"), SHAPES)
def test_edges_and_bars_have_contrast_of_at_least_three(shape: str, ground: str, look: str) -> None:
    tokens = read_tokens(TOKENS)
    assert contrast(tokens[shape][look], tokens[ground][look]) >= 3.0


def test_every_colour_stands_in_a_pair() -> None:
    paired = {name for pair in (*WORDS, *SHAPES) for name in pair}
    assert set(read_tokens(TOKENS)) - paired - WITHOUT == set()


def test_contrast_of_known_colours_is_right() -> None:
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)  # the well-known grey that just fails


def test_figures_reports_and_pages_share_their_colours() -> None:
    tokens = read_tokens(TOKENS)
    for look in LOOKS:
        for name in ("surface", "text", "muted"):
            assert tokens[name][look] == plot.SURFACES[look][name]
    for level, colour in plot.TONES.items():
        assert tokens[f"noise-{level}"]["light"] == colour
    assert plot.FONT in TOKENS


def test_other_style_sheets_name_colours_by_token_only() -> None:
    for sheet in SHEETS:
        if sheet.name == "tokens.css":
            continue
        css = re.sub(r"/\*.*?\*/", "", sheet.read_text("utf-8"), flags=re.S)
        literal = set(re.findall(r"#[0-9a-f]{3,8}\b(?![^{]*\{)", css))
        allowed = {"layout.css": {"#005a8e", "#0b64a0", "#ffffff", "#8fd0f5"}, "print.css": {"#ffffff"}}  # logo; paper
        assert literal - allowed.get(sheet.name, set()) - {"#b9dcf2", "#1f4f73"} == set(), sheet.name


def test_style_sheets_use_only_tokens_that_exist() -> None:
    defined = set(re.findall(r"--([\w-]+):", TOKENS))
    for sheet in SHEETS:
        used = set(re.findall(r"var\(--([\w-]+)", sheet.read_text("utf-8")))
        assert used - defined == set(), sheet.name
