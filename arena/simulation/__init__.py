"""Competitions that are simulated before anyone is invited.

:mod:`~arena.simulation.data` makes or reads rows, :mod:`~arena.simulation.training` trains many
competitors on them, :mod:`~arena.simulation.models_folder` keeps what they predict,
:mod:`~arena.simulation.ranks` compares true with competition ranks, and
:mod:`~arena.simulation.planning` asks how many rows a stored competition needs, training nothing.
:mod:`~arena.simulation.competition` holds a whole competition with simulated teams.
"""
