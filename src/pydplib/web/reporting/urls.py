"""Addresses of reporting."""

from __future__ import annotations

from django.urls import path

from pydplib.web.reporting import views_reports
from pydplib.web.reporting.forms import views as views_form
from pydplib.web.reporting.labels import views as views_labels
from pydplib.web.reporting.report_templates import views as views_templates

urlpatterns = [
    path("templates", views_templates.templates, name="templates"),
    path("templates/new", views_templates.template_new, name="template_new"),
    path("templates/<str:key>", views_templates.template, name="template"),
    path("templates/<str:key>/difference", views_templates.template_difference, name="template_difference"),
    path("templates/<str:key>/download", views_templates.template_download, name="template_download"),
    path("templates/<str:key>/use", views_templates.template_use, name="template_use"),
    path("reports", views_reports.reports, name="reports"),
    path("reports/find", views_reports.report_find, name="report_find"),
    path("reports/filters", views_reports.filter_save, name="filter_save"),
    path("reports/filters/remove", views_reports.filter_remove, name="filter_remove"),
    path("reports/new", views_form.report_new, name="report_new"),
    path("reports/<str:key>", views_reports.report, name="report"),
    path("reports/<str:key>/edit", views_form.report_edit, name="report_edit"),
    path("reports/<str:key>/autosave", views_form.report_autosave, name="report_autosave"),
    path("reports/<str:key>/discard", views_form.report_discard, name="report_discard"),
    path("reports/<str:key>/fhir", views_reports.report_fhir, name="report_fhir"),
    path("labelling", views_labels.labelling, name="labelling"),
    path("labelling/add", views_labels.labelling_add, name="labelling_add"),
    path("labelling/next", views_labels.labelling_next, name="labelling_next"),
    path("labelling/agreement", views_labels.labelling_agreement, name="labelling_agreement"),
    path("labelling/texts/<str:key>/judge", views_labels.labelling_judge, name="labelling_judge"),
    path("labelling/readings/<str:key>", views_labels.reading, name="reading"),
    path("labelling/readings/<str:key>/autosave", views_labels.reading_autosave, name="reading_autosave"),
    path("labelling/readings/<str:key>/give-back", views_labels.reading_give_back, name="reading_give_back"),
]
