"""Addresses of analyses, budget and receipts."""

from __future__ import annotations

from django.urls import path

from pydplib.web.analyses import views_analyses, views_ask, views_budget, views_plan, views_receipts

urlpatterns = [
    path("analyses", views_analyses.analyses, name="analyses"),
    path("analyses/new", views_ask.analysis_new, name="analysis_new"),
    path("analyses/ask/<str:entry>", views_ask.analysis_entry, name="analysis_entry"),
    path("analyses/try", views_ask.analysis_try, name="analysis_try"),
    path("analyses/plan", views_plan.study_plan, name="study_plan"),
    path("analyses/<str:key>", views_analyses.analysis, name="analysis"),
    path("analyses/<str:key>/download/<str:kind>", views_analyses.analysis_download, name="analysis_download"),
    path("analyses/<str:key>/share", views_analyses.analysis_share, name="analysis_share"),
    path("analyses/<str:key>/receive", views_analyses.analysis_receive, name="analysis_receive"),
    path("analyses/<str:key>/original", views_analyses.analysis_original, name="analysis_original"),
    path("budget", views_budget.budget, name="budget"),
    path("budget/verify", views_budget.budget_verify, name="budget_verify"),
    path("budget/head", views_budget.budget_head, name="budget_head"),
    path("receipts", views_receipts.receipts, name="receipts"),
    path("receipts/keys", views_receipts.receipt_keys, name="receipt_keys"),
    path("receipts/<str:digest>", views_receipts.receipt, name="receipt"),
]
