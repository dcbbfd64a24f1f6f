"""Competitions that are simulated before anyone is invited.

:mod:`~arena.simulation.data` makes or reads rows; :mod:`~arena.simulation.ranks` trains many models
and compares true with competition ranks; :mod:`~arena.simulation.plan` asks how many rows a
competition needs, from the predictions of a pilot; :mod:`~arena.simulation.competition` runs a
whole competition with simulated teams.
"""
