"""Who was told how much: costs, composition, budgets, the ledger and its cache of releases."""

from __future__ import annotations

from pydplib.budget.chain import Entry, Head
from pydplib.budget.composition import parallel, sequential
from pydplib.budget.costs import Cost
from pydplib.budget.keys import ReleaseKey, canonical_json
from pydplib.budget.ledger import Ledger, Quote
from pydplib.budget.limits import Limits
from pydplib.budget.memory import MemoryLedger
from pydplib.budget.rules import Bar, Limit, Refusal, Remaining, State, can_pay, pay, remaining, spent
from pydplib.budget.sqlite import SqliteLedger
from pydplib.budget.store import Account, Store, StoredRelease
from pydplib.budget.store_ledger import StoreLedger
from pydplib.budget.units import exact
from pydplib.budget.workflow import Reservation
from pydplib.guarantee import zcdp_epsilon

__all__ = [
    "Account",
    "Bar",
    "Cost",
    "Entry",
    "Head",
    "Ledger",
    "Limit",
    "Limits",
    "MemoryLedger",
    "Quote",
    "Refusal",
    "ReleaseKey",
    "Remaining",
    "Reservation",
    "SqliteLedger",
    "State",
    "Store",
    "StoreLedger",
    "StoredRelease",
    "can_pay",
    "canonical_json",
    "exact",
    "parallel",
    "pay",
    "remaining",
    "sequential",
    "spent",
    "zcdp_epsilon",
]
