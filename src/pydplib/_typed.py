"""The public names again, for type checkers and editors only; never imported at run time."""

# ruff: noqa: F403
from __future__ import annotations

from pydplib.anonymity import AlphaK as AlphaK
from pydplib.anonymity import AnonymizationResult as AnonymizationResult
from pydplib.anonymity import BetaLikeness as BetaLikeness
from pydplib.anonymity import Certificate as Certificate
from pydplib.anonymity import Dates as Dates
from pydplib.anonymity import DeltaDisclosure as DeltaDisclosure
from pydplib.anonymity import DeltaPresence as DeltaPresence
from pydplib.anonymity import Hierarchy as Hierarchy
from pydplib.anonymity import Intervals as Intervals
from pydplib.anonymity import KAnonymity as KAnonymity
from pydplib.anonymity import KMap as KMap
from pydplib.anonymity import LDiversity as LDiversity
from pydplib.anonymity import Loss as Loss
from pydplib.anonymity import Masking as Masking
from pydplib.anonymity import Pseudonym as Pseudonym
from pydplib.anonymity import Recipe as Recipe
from pydplib.anonymity import Risk as Risk
from pydplib.anonymity import TCloseness as TCloseness
from pydplib.anonymity import TopBottom as TopBottom
from pydplib.anonymity import Trace as Trace
from pydplib.anonymity import Verification as Verification
from pydplib.anonymity import anonymize as anonymize
from pydplib.anonymity import risk as risk
from pydplib.anonymity import verify as verify
from pydplib.budget import Cost as Cost
from pydplib.budget import MemoryLedger as MemoryLedger
from pydplib.budget import SqliteLedger as SqliteLedger
from pydplib.client import Client as Client
from pydplib.clinic import plan as plan
from pydplib.engine import Bins as Bins
from pydplib.engine import Person as Person
from pydplib.engine import Table as Table
from pydplib.engine import Where as Where
from pydplib.engine import load as load
from pydplib.errors import *
from pydplib.guarantee import *
from pydplib.paper import DPResult as DPResult
from pydplib.paper import binary_search_epsilon as binary_search_epsilon
from pydplib.paper import data_range as data_range
from pydplib.paper import dp_calculate as dp_calculate
from pydplib.paper import fit_data_to_range as fit_data_to_range
from pydplib.paper import laplace_mechanism as laplace_mechanism
from pydplib.policy import Policy as Policy
from pydplib.policy import PolicyRule as PolicyRule
from pydplib.release import Count as Count
from pydplib.release import Crosstab as Crosstab
from pydplib.release import Histogram as Histogram
from pydplib.release import Mean as Mean
from pydplib.release import Median as Median
from pydplib.release import Mode as Mode
from pydplib.release import Price as Price
from pydplib.release import Quantiles as Quantiles
from pydplib.release import Release as Release
from pydplib.release import Session as Session
from pydplib.release import StandardDeviation as StandardDeviation
from pydplib.release import Sum as Sum
from pydplib.release import Variance as Variance
from pydplib.release import count as count
from pydplib.release import histogram as histogram
from pydplib.release import mean as mean
from pydplib.release import median as median
from pydplib.release import quantiles as quantiles
from pydplib.release import sum as sum
from pydplib.release import variance as variance
from pydplib.schema import *
from pydplib.synthesis import SyntheticTable as SyntheticTable
from pydplib.synthesis import synthesize as synthesize
