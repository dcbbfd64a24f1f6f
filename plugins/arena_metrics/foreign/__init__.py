"""Other people's metrics, run unchanged: each kind of them in a module of its own.

What they are is written down in :mod:`arena_metrics.foreign.kinds`. Their code runs in worker
processes, so that a call that hangs can be ended, and nothing that it prints comes out. That is no
sandbox: the code is the organiser's own choice, and may do whatever the organiser may.
"""
