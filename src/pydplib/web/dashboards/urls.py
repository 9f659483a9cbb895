"""Addresses of dashboards."""

from __future__ import annotations

from django.urls import path

from pydplib.web.dashboards import views, views_edit

urlpatterns = [
    path("dashboards", views.dashboards, name="dashboards"),
    path("dashboards/new", views_edit.new_dashboard, name="dashboard_new"),
    path("dashboards/budget/<str:audience>", views_edit.dashboard_budget, name="dashboard_budget"),
    path("dashboards/figures/<str:key>/move/<str:way>", views_edit.figure_move, name="dashboard_figure_move"),
    path("dashboards/figures/<str:key>/price", views_edit.figure_price, name="dashboard_figure_price"),
    path("dashboards/figures/<str:key>/remove", views_edit.figure_remove, name="dashboard_figure_remove"),
    path("dashboards/<str:key>", views.dashboard, name="dashboard"),
    path("dashboards/<str:key>/receive", views.receive_figures, name="dashboard_receive"),
    path("dashboards/<str:key>/originals", views.originals, name="dashboard_originals"),
    path("dashboards/<str:key>/edit", views_edit.edit, name="dashboard_edit"),
    path("dashboards/<str:key>/pick", views_edit.pick, name="dashboard_pick"),
    path("dashboards/<str:key>/question", views_edit.question, name="dashboard_question"),
    path("dashboards/<str:key>/count", views_edit.count, name="dashboard_count"),
    path("dashboards/<str:key>/publish", views_edit.publish_now, name="dashboard_publish"),
    path("dashboards/<str:key>/withdraw", views_edit.take_back, name="dashboard_withdraw"),
]
