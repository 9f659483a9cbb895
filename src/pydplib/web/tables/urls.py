"""Addresses of further tables and computed columns."""

from __future__ import annotations

from django.urls import path

from pydplib.web.tables import views_columns, views_tables

urlpatterns = [
    path("tables", views_tables.tables, name="tables"),
    path("tables/uploads/<str:key>", views_tables.table_upload, name="table_upload"),
    path("tables/uploads/<str:key>/left-out.csv", views_tables.table_left_out, name="table_left_out"),
    path("tables/uploads/<str:key>/discard", views_tables.table_discard, name="table_discard"),
    path("tables/<str:key>/remove", views_tables.table_remove, name="table_remove"),
    path("columns", views_columns.columns, name="columns"),
    path("columns/check", views_columns.column_check, name="column_check"),
    path("columns/remove", views_columns.column_remove, name="column_remove"),
    path("columns/joins", views_columns.column_joins, name="column_joins"),
]
