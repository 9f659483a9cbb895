"""Noise factors: low, medium and high, the bands of noise that the PyDPLib paper gives to three audiences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from types import MappingProxyType

from pydplib.errors import ParameterError, did_you_mean, shown


@dataclass(frozen=True, slots=True)
class NoiseFactor:
    """How much noise a recipient gets: a band of percentages and the middle that is aimed at.

    Args:
        number: The paper's number: 0, 1 or 2.
        name: ``"low"``, ``"medium"`` or ``"high"``.
        low: The band's lower edge in percent (inside the band).
        high: The band's upper edge in percent (inside the band).
        role: Whom the paper gives it to.
        meaning: What it means, in one sentence.

    Examples:
        >>> NOISE_FACTORS["high"].band, NOISE_FACTORS["high"].target
        ((10.0, 20.0), 0.15)
    """

    number: int
    _: KW_ONLY
    name: str
    low: float
    high: float
    role: str
    meaning: str

    @property
    def target(self) -> float:
        """The middle of the band as a fraction (tau): .025, .075 or .15."""
        return (self.low + self.high) / 200

    @property
    def band(self) -> tuple[float, float]:
        """The band in percent, both ends included."""
        return (self.low, self.high)

    def holds(self, percent: float) -> bool:
        """Tell whether a noise percentage lies in the band."""
        return self.low <= percent <= self.high

    def __str__(self) -> str:
        return f"{self.name} ({self.low:g} to {self.high:g} % noise)"


NOISE_FACTORS: Mapping[str, NoiseFactor] = MappingProxyType(
    {
        factor.name: factor
        for factor in (
            NoiseFactor(
                0,
                name="low",
                low=0.0,
                high=5.0,
                role="owner",
                meaning="Values stay close to the truth: for those who hold the data anyway.",
            ),
            NoiseFactor(
                1,
                name="medium",
                low=5.0,
                high=10.0,
                role="collaborator",
                meaning="Trends stay clear, single values are blurred.",
            ),
            NoiseFactor(
                2,
                name="high",
                low=10.0,
                high=20.0,
                role="third_party",
                meaning="Only the broad picture remains; single values mean little.",
            ),
        )
    }
)
"""The noise factors by name, from least noise to most."""


def parse_noise_factor(noise_factor: object) -> NoiseFactor:
    """Return the noise factor for 0, 1, 2 or low, medium, high.

    Examples:
        >>> parse_noise_factor(2).name, parse_noise_factor("Low").number
        ('high', 0)
    """
    if isinstance(noise_factor, NoiseFactor):
        return noise_factor
    is_word = isinstance(noise_factor, str | Integral) and not isinstance(noise_factor, bool)
    word = str(noise_factor).strip().lower() if is_word else ""
    for factor in NOISE_FACTORS.values():
        if word in (factor.name, str(factor.number)):
            return factor
    raise ParameterError(
        f"Unknown noise_factor {shown(noise_factor)}; it is 0 low, 1 medium or 2 high."
        + did_you_mean(word, NOISE_FACTORS)
    )
