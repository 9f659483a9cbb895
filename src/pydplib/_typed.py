"""The public names again, for type checkers and editors only; never imported at run time."""

# ruff: noqa: F403
from __future__ import annotations

from pydplib.errors import *
from pydplib.guarantee import *
from pydplib.paper import *
from pydplib.schema import *
