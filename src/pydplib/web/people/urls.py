"""Addresses of people."""

from __future__ import annotations

from django.urls import path

from pydplib.web.people import views_account, views_entry, views_hospital

urlpatterns = [
    path("login", views_entry.login, name="login"),
    path("login/code", views_entry.login_code, name="login_code"),
    path("logout", views_entry.logout, name="logout"),
    path("setup", views_entry.setup, name="setup"),
    path("welcome", views_entry.welcome_password, name="welcome_password"),
    path("welcome/<str:token>", views_entry.welcome, name="welcome"),
    path("confirm", views_account.confirm, name="confirm"),
    path("confirm/again", views_account.again, name="confirm_again"),
    path("account", views_account.account, name="account"),
    path("account/password", views_account.password, name="account_password"),
    path("account/second-factor", views_account.second_factor, name="second_factor"),
    path("account/second-factor/off", views_account.second_factor_off, name="second_factor_off"),
    path("account/recovery-codes", views_account.recovery_codes, name="recovery_codes"),
    path("account/sessions/end", views_account.end_session, name="end_session"),
    path("demo/person", views_account.demo_person, name="demo_person"),
    path("hospital", views_hospital.hospital, name="hospital"),
    path("hospital/invite", views_hospital.invite, name="hospital_invite"),
    path("hospital/people/<str:key>", views_hospital.person, name="hospital_person"),
    path("hospital/people/<str:key>/disable", views_hospital.disable, name="hospital_disable"),
    path("hospital/people/<str:key>/enable", views_hospital.enable, name="hospital_enable"),
    path("hospital/people/<str:key>/link", views_hospital.reset_link, name="hospital_link"),
    path("hospital/people/<str:key>/owner", views_hospital.ownership, name="hospital_owner"),
    path("hospital/people/<str:key>/second-factor", views_hospital.second_factor, name="hospital_second_factor"),
]
