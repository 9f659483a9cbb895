"""Audits: does a mechanism keep the epsilon it claims?"""
