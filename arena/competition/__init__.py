"""Competitions that run for weeks: create, submit, finalize, rescore, export, verify."""
