"""Addresses of projects, members, policy and requests."""

from __future__ import annotations

from django.urls import path

from pydplib.web.projects import views_projects
from pydplib.web.projects.members import views as views_members
from pydplib.web.projects.policy import views as views_policy
from pydplib.web.projects.policy import views_access
from pydplib.web.projects.requests import views as views_requests

urlpatterns = [
    path("projects", views_projects.projects, name="projects"),
    path("projects/new", views_projects.new_project, name="project_new"),
    path("projects/<str:key>", views_projects.project, name="project"),
    path("projects/<str:key>/edit", views_projects.edit, name="project_edit"),
    path("projects/<str:key>/members", views_members.members, name="members"),
    path("projects/<str:key>/members/new", views_members.new_member, name="member_new"),
    path("projects/<str:key>/leave", views_members.leave, name="project_leave"),
    path("invitations/<str:key>/accept", views_members.invitation_accept, name="invitation_accept"),
    path("invitations/<str:key>/decline", views_members.invitation_decline, name="invitation_decline"),
    path("invitations/<str:key>/withdraw", views_members.invitation_withdraw, name="invitation_withdraw"),
    path("members/<str:key>", views_members.member, name="member"),
    path("members/<str:key>/remove", views_members.remove, name="member_remove"),
    path("policy", views_policy.policy, name="policy"),
    path("policy/rules/new", views_policy.new_rule, name="rule_new"),
    path("policy/rules/<str:key>", views_policy.rule, name="rule"),
    path("policy/rules/<str:key>/remove", views_policy.remove_rule, name="rule_remove"),
    path("policy/data-set", views_policy.data_set_budget, name="data_set_budget"),
    path("policy/access", views_access.access, name="access"),
    path("policy/preview", views_access.preview_start, name="preview_start"),
    path("policy/preview/end", views_access.preview_end, name="preview_end"),
    path("requests", views_requests.requests, name="requests"),
    path("requests/ask/<str:kind>", views_requests.ask, name="request_ask"),
    path("requests/propose", views_requests.propose, name="request_propose"),
    path("requests/<str:key>", views_requests.one_request, name="request"),
    path("requests/<str:key>/decide", views_requests.decision, name="request_decide"),
    path("requests/<str:key>/withdraw", views_requests.take_back, name="request_withdraw"),
]
