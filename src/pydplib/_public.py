"""The table of public names: where each one lives. The one list behind ``pydplib.__all__``."""

from __future__ import annotations

PUBLIC_MODULES: tuple[str, ...] = (
    "attack",
    "budget",
    "capture",
    "datasets",
    "engine",
    "errors",
    "mechanisms",
    "noise",
    "paper",
    "plot",
    "policy",
    "release",
)

_BY_MODULE: dict[str, tuple[str, ...]] = {
    "pydplib.guarantee": ("ApproxDP", "KAnonymous", "LocalDP", "NoGuarantee", "PureDP", "ZCDP"),
    "pydplib.schema": ("Category", "Date", "Flag", "Integer", "Number", "Schema", "Text"),
    "pydplib.errors": (
        "AnonymityError",
        "BudgetError",
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
    "pydplib.budget": ("Cost", "MemoryLedger", "SqliteLedger"),
    "pydplib.policy": ("Policy", "PolicyRule"),
    "pydplib.release": (
        "Count",
        "Crosstab",
        "Histogram",
        "Mean",
        "Median",
        "Price",
        "Quantiles",
        "Release",
        "Session",
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
    "pydplib.engine": ("Bins", "Table", "Where", "load"),
    "pydplib.paper": (
        "DPResult",
        "binary_search_epsilon",
        "data_range",
        "dp_calculate",
        "fit_data_to_range",
        "laplace_mechanism",
    ),
}

PUBLIC_NAMES: dict[str, str] = {name: module for module, names in _BY_MODULE.items() for name in names}
"""Public name -> the module that defines it."""
