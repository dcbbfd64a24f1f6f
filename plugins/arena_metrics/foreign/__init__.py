"""Metrics written for other platforms, run unchanged; one module per platform.

:mod:`arena_metrics.foreign.kinds` defines what a platform module provides. The metric's code runs
in worker processes, so that a call that hangs can be stopped and nothing that it prints is shown.
This is not a sandbox: the code runs with the permissions of the organiser who chose it.
"""
