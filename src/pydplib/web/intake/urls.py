"""Addresses of intake."""

from __future__ import annotations

from django.urls import path

from pydplib.web.intake import views_snapshots
from pydplib.web.intake.further_tables import views as views_tables
from pydplib.web.intake.further_tables import views_columns
from pydplib.web.intake.imports import views as views_import
from pydplib.web.intake.rights import views as views_rights
from pydplib.web.intake.rows import views as views_data
from pydplib.web.intake.rows import views_exact

urlpatterns = [
    path("import", views_import.imports, name="import"),
    path("import/<str:key>", views_import.import_batch, name="import_batch"),
    path("import/<str:key>/progress", views_import.import_progress, name="import_progress"),
    path("import/<str:key>/mapping", views_import.import_mapping, name="import_mapping"),
    path("import/<str:key>/rematch", views_import.import_rematch, name="import_rematch"),
    path("import/<str:key>/replace", views_import.import_replace, name="import_replace"),
    path("import/<str:key>/left-out.csv", views_import.import_left_out, name="import_left_out"),
    path("import/<str:key>/undo", views_import.import_undo, name="import_undo"),
    path("import/<str:key>/rows/<int:number>", views_import.import_row, name="import_row"),
    path("import/<str:key>/accept", views_import.import_accept, name="import_accept"),
    path("import/<str:key>/discard", views_import.import_discard, name="import_discard"),
    path("data", views_data.data, name="data"),
    path("counts", views_exact.exact_view, name="exact_view"),
    path("data/export", views_data.data_export, name="data_export"),
    path("data/patients/<str:key>", views_data.patient, name="patient"),
    path("data/patients/<str:key>/identifiers", views_data.patient_identifiers, name="patient_identifiers"),
    path("quality", views_data.quality, name="quality"),
    path("tables", views_tables.tables, name="tables"),
    path("tables/uploads/<str:key>", views_tables.table_upload, name="table_upload"),
    path("tables/uploads/<str:key>/left-out.csv", views_tables.table_left_out, name="table_left_out"),
    path("tables/uploads/<str:key>/discard", views_tables.table_discard, name="table_discard"),
    path("tables/<str:key>/remove", views_tables.table_remove, name="table_remove"),
    path("columns", views_columns.columns, name="columns"),
    path("columns/check", views_columns.column_check, name="column_check"),
    path("columns/remove", views_columns.column_remove, name="column_remove"),
    path("columns/joins", views_columns.column_joins, name="column_joins"),
    path("snapshots", views_snapshots.snapshots, name="snapshots"),
    path("snapshots/progress", views_snapshots.snapshot_progress, name="snapshot_progress"),
    path("snapshots/schedule", views_snapshots.snapshot_schedule, name="snapshot_schedule"),
    path("snapshots/<str:key>/publish", views_snapshots.snapshot_publish, name="snapshot_publish"),
    path("privacy-rights", views_rights.privacy_rights, name="privacy_rights"),
    path("privacy-rights/find", views_rights.rights_find, name="rights_find"),
    path("privacy-rights/purge", views_rights.rights_purge, name="rights_purge"),
    path("privacy-rights/processing", views_rights.rights_processing, name="rights_processing"),
    path("privacy-rights/processing.json", views_rights.rights_processing_json, name="rights_processing_json"),
    path("privacy-rights/patients/<str:key>", views_rights.rights_patient, name="rights_patient"),
    path("privacy-rights/patients/<str:key>/access", views_rights.rights_access, name="rights_access"),
    path("privacy-rights/patients/<str:key>/access.json", views_rights.rights_access_json, name="rights_access_json"),
    path("privacy-rights/patients/<str:key>/consent", views_rights.rights_consent, name="rights_consent"),
    path("privacy-rights/patients/<str:key>/erase", views_rights.rights_erase, name="rights_erase"),
]
