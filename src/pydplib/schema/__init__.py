"""What the owner of a table declares public: kinds, bounds, categories, labels, and who is a person.

Everything here is public by declaration. Data never choose bounds, categories or
the maximum rows per person; a schema is written by a human (or a report template).
"""

from pydplib.schema.cells import Scalar as Scalar
from pydplib.schema.cells import Storage as Storage
from pydplib.schema.columns import COLUMN_KINDS as COLUMN_KINDS
from pydplib.schema.columns import ORDER_OPERATORS as ORDER_OPERATORS
from pydplib.schema.columns import OTHER as OTHER
from pydplib.schema.columns import Category as Category
from pydplib.schema.columns import Column as Column
from pydplib.schema.columns import Date as Date
from pydplib.schema.columns import Flag as Flag
from pydplib.schema.columns import Integer as Integer
from pydplib.schema.columns import Label as Label
from pydplib.schema.columns import Number as Number
from pydplib.schema.columns import Operator as Operator
from pydplib.schema.columns import Ranged as Ranged
from pydplib.schema.columns import Text as Text
from pydplib.schema.columns import Widget as Widget
from pydplib.schema.columns import day_number as day_number
from pydplib.schema.columns import forget_kind as forget_kind
from pydplib.schema.columns import number_of_text as number_of_text
from pydplib.schema.columns import register_kind as register_kind
from pydplib.schema.columns import same_scalar as same_scalar
from pydplib.schema.omop import OMOP_TABLES as OMOP_TABLES
from pydplib.schema.omop import omop_schema as omop_schema
from pydplib.schema.omop import propose_omop as propose_omop
from pydplib.schema.table import Schema as Schema
from pydplib.schema.table import rows_words as rows_words
