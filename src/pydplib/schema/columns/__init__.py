"""One column kind, one file; ``COLUMN_KINDS`` is the registry of all of them."""

from pydplib.schema.columns.base import COLUMN_KINDS as COLUMN_KINDS
from pydplib.schema.columns.base import ORDER_OPERATORS as ORDER_OPERATORS
from pydplib.schema.columns.base import OTHER as OTHER
from pydplib.schema.columns.base import Column as Column
from pydplib.schema.columns.base import Label as Label
from pydplib.schema.columns.base import Operator as Operator
from pydplib.schema.columns.base import Widget as Widget
from pydplib.schema.columns.base import forget_kind as forget_kind
from pydplib.schema.columns.base import number_of_text as number_of_text
from pydplib.schema.columns.base import register_kind as register_kind
from pydplib.schema.columns.base import same_scalar as same_scalar
from pydplib.schema.columns.category import Category as Category
from pydplib.schema.columns.date import Date as Date
from pydplib.schema.columns.date import day_number as day_number
from pydplib.schema.columns.flag import Flag as Flag
from pydplib.schema.columns.integer import Integer as Integer
from pydplib.schema.columns.number import Number as Number
from pydplib.schema.columns.ranged import Ranged as Ranged
from pydplib.schema.columns.text import Text as Text

for _kind in (Number, Integer, Category, Flag, Date, Text):
    register_kind(_kind)
