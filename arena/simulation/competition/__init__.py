"""A whole competition with simulated teams, run by the code that runs real competitions.

:mod:`~.prepare` checks a request, :mod:`~.run` carries it out. :mod:`~.setup` and :mod:`~.existing`
provide the data, :mod:`~.teams` the participants, :mod:`~.calendar` their submission times,
:mod:`~.folder` the folder on disk. :mod:`~.play` plays the rounds through :mod:`~.submit`.
:mod:`~.true_scores`, :mod:`~.timeline`, :mod:`~.flags` and :mod:`~.outcome` compare the result with
the truth; :mod:`~.summary` and :mod:`~.charts` present it.
"""
