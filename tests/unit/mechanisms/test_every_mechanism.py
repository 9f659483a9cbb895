"""What holds for each mechanism: frozen, no source, a proof, a guarantee, a scale, a margin and its inverse."""

from __future__ import annotations

import dataclasses
import inspect
import pickle

import pytest

from pydplib import mechanisms
from pydplib.guarantee import Guarantee
from pydplib.noise import tap

CLASSES = [getattr(mechanisms, name) for name in mechanisms.__all__]


def test_every_mechanism_of_the_list_is_in_the_tests(helpers):
    assert {type(m) for m in helpers.EVERY} == set(CLASSES)


@pytest.mark.parametrize("cls", CLASSES)
def test_mechanism_docstring_has_a_proof_and_an_example(cls):
    assert "Proof:" in cls.__doc__
    assert ">>>" in cls.__doc__


@pytest.mark.parametrize("cls", CLASSES)
def test_mechanism_takes_no_source_of_randomness(cls):
    members = [cls, *(f for _, f in inspect.getmembers(cls, callable) if not isinstance(f, type))]
    for member in members:
        try:
            parameters = inspect.signature(member).parameters
        except (TypeError, ValueError):
            continue
        assert not {"source", "seed", "rng", "random_state", "generator"} & set(parameters), member


def test_tap_and_record_noise_take_no_source_of_randomness():
    from pydplib.noise.grid import laplace_records

    for function in (
        tap.add_laplace,
        tap.add_gaussian,
        tap.choose,
        tap.flip_and_choose,
        tap.respond,
        tap.flip_coins,
        tap.flip_values,
        laplace_records,
    ):
        assert "source" not in inspect.signature(function).parameters


@pytest.mark.parametrize("cls", CLASSES)
def test_mechanism_is_a_frozen_value(cls, helpers):
    mechanism = next(m for m in helpers.EVERY if type(m) is cls)
    assert dataclasses.is_dataclass(mechanism)
    assert pickle.loads(pickle.dumps(mechanism)) == mechanism
    with pytest.raises((dataclasses.FrozenInstanceError, AttributeError)):
        mechanism.epsilon = 99.0


@pytest.mark.parametrize("cls", CLASSES)
def test_mechanism_states_guarantee_scale_margin_and_inverse(cls, helpers):
    mechanism = next(m for m in helpers.EVERY if type(m) is cls)
    assert isinstance(mechanism.guarantee, Guarantee)
    assert mechanism.scale > 0
    assert hasattr(mechanism, "margin95") and hasattr(mechanism, "margin")
    assert callable(cls.from_margin)
    assert callable(mechanism.release)


def test_mechanisms_no_epsilon_default_anywhere():
    for cls in CLASSES:
        for name in ("epsilon", "rho", "delta"):
            parameter = inspect.signature(cls).parameters.get(name)
            if parameter is not None:
                assert parameter.default in (inspect.Parameter.empty, None)
