"""The table of public names: where each one lives. The one list behind ``pydplib.__all__``."""

from __future__ import annotations

STATISTIC_MODULES: tuple[str, ...] = ("pydplib.clinic",)
"""Packages above ``release`` that enter statistics into its registry; loaded when somebody first looks one up."""

PUBLIC_MODULES: tuple[str, ...] = ("anonymity", "attack", "clinic", "datasets", "errors", "mechanisms", "paper")
"""Sub-packages that a notebook uses by name: ``dp.anonymity``, ``dp.errors``."""

OTHER_MODULES: tuple[str, ...] = (
    "budget",
    "capture",
    "client",
    "engine",
    "guarantee",
    "noise",
    "plot",
    "policy",
    "receipt",
    "release",
    "schema",
    "synthesis",
)
"""Sub-packages that ``dp.`` finds as well, though they are not in ``pydplib.__all__``."""

_BY_MODULE: dict[str, tuple[str, ...]] = {
    "pydplib.guarantee": ("ApproxDP", "PureDP"),
    "pydplib.schema": ("Category", "Date", "Flag", "Integer", "Number", "Schema", "Text"),
    "pydplib.errors": ("BudgetError",),
    "pydplib.budget": ("MemoryLedger", "SqliteLedger"),
    "pydplib.client": ("Client",),
    "pydplib.clinic": ("plan",),
    "pydplib.policy": ("Policy",),
    "pydplib.release": (
        "Count",
        "Crosstab",
        "Histogram",
        "Mean",
        "Median",
        "Mode",
        "Quantiles",
        "Release",
        "Session",
        "StandardDeviation",
        "Sum",
        "Variance",
        "count",
        "histogram",
        "mean",
        "median",
        "quantiles",
        "sum",
        "variance",
    ),
    "pydplib.synthesis": ("synthesize",),
    "pydplib.engine": ("Bins", "Person", "Where", "load"),
    "pydplib.anonymity": ("Hierarchy", "KAnonymity", "LDiversity", "TCloseness", "anonymize", "risk", "verify"),
    "pydplib.paper": ("dp_calculate",),
}

PUBLIC_NAMES: dict[str, str] = {name: module for module, names in _BY_MODULE.items() for name in names}
"""Public name -> the module that defines it."""

_MOVED: dict[str, tuple[str, ...]] = {
    "pydplib.guarantee": ("KAnonymous", "LocalDP", "NoGuarantee", "ZCDP"),
    "pydplib.errors": (
        "AnonymityError",
        "CalibrationError",
        "DataError",
        "EngineError",
        "HierarchyError",
        "LedgerError",
        "MissingExtraError",
        "ParameterError",
        "PolicyError",
        "PydplibError",
        "QuestionError",
        "ReceiptError",
        "SchemaError",
        "TemplateError",
    ),
    "pydplib.budget": ("Cost",),
    "pydplib.policy": ("PolicyRule",),
    "pydplib.release": ("MeasuredTables", "Price"),
    "pydplib.synthesis": ("SyntheticTable",),
    "pydplib.engine": ("Table",),
    "pydplib.anonymity": (
        "AlphaK",
        "AnonymizationResult",
        "BetaLikeness",
        "Certificate",
        "Dates",
        "DeltaDisclosure",
        "DeltaPresence",
        "Intervals",
        "KMap",
        "Loss",
        "Masking",
        "Pseudonym",
        "Recipe",
        "Risk",
        "TopBottom",
        "Trace",
        "Verification",
    ),
    "pydplib.paper": (
        "DPResult",
        "binary_search_epsilon",
        "data_range",
        "fit_data_to_range",
        "laplace_mechanism",
    ),
}

MOVED_NAMES: dict[str, str] = {name: module for module, names in _MOVED.items() for name in names}
"""Names that version 0.1 had at the top -> the module where they are now. They still resolve, with a warning."""
