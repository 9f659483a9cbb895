"""The public names again, for type checkers and editors only; never imported at run time."""

# ruff: noqa: F403
from __future__ import annotations

from pydplib.budget import Cost as Cost
from pydplib.budget import MemoryLedger as MemoryLedger
from pydplib.budget import SqliteLedger as SqliteLedger
from pydplib.engine import Bins as Bins
from pydplib.engine import Table as Table
from pydplib.engine import Where as Where
from pydplib.engine import load as load
from pydplib.errors import *
from pydplib.guarantee import *
from pydplib.paper import *
from pydplib.policy import Policy as Policy
from pydplib.policy import PolicyRule as PolicyRule
from pydplib.release import Count as Count
from pydplib.release import Crosstab as Crosstab
from pydplib.release import Histogram as Histogram
from pydplib.release import Mean as Mean
from pydplib.release import Median as Median
from pydplib.release import Price as Price
from pydplib.release import Quantiles as Quantiles
from pydplib.release import Release as Release
from pydplib.release import Session as Session
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
