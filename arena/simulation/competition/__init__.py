"""A whole competition with simulated teams, held by the code that holds real ones.

:mod:`~arena.simulation.competition.grounds` has the data, :mod:`~.roster` the teams,
:mod:`~.calendar` their days, :mod:`~.venue` the folder, :mod:`~.desk` takes their files in,
:mod:`~.play` lets them play, and :mod:`~.truth` and :mod:`~.outcome` say what was true.
"""
