"""Calls in worker processes with limits, for code that may hang, crash or use too much memory.

A thread cannot be stopped, and neither can a call that hangs in C, so a call runs in another
process. There are two kinds of workers, for two kinds of code. Both speak one protocol
(:mod:`~arena.utils.processes.messages`); they differ in who ends a task that takes too long, and in
what is limited.

:func:`call_limited` is for arena's own code on untrusted data. A watchdog inside the worker
terminates it at the time limit. The watchdog needs neither the global interpreter lock nor the
parent process, so that no worker is left behind if the parent is killed. Memory and open files can
be limited too, if the system supports it (:data:`HAS_LIMITS`).

:func:`run_limited` is for third-party code, which may cancel timers and start processes. The parent
holds the deadline, so that nothing in the worker can change it. On Linux the worker is the child of
a small guard process, which only waits. The guard adopts every process that the worker starts, in
any session or process group (``PR_SET_CHILD_SUBREAPER``), and kills them all when the worker ends,
at the time limit, or when the parent dies. The worker can have a memory limit and, if the kernel
allows unprivileged namespaces, no network and a read-only folder (:class:`Confinement`). On other
systems a worker is killed with its process group, and there are no other limits. This protects
against faulty code, not against malicious code.
"""

from arena.utils.processes.calls import call_limited, prepare_limited, run_limited
from arena.utils.processes.child import in_worker, start_clock
from arena.utils.processes.limits import HAS_LIMITS, Confinement, Ended, Limits
from arena.utils.processes.linux import descendants
from arena.utils.processes.plain import AnswerError, decode, encode, sendable

__all__ = [
    "HAS_LIMITS",
    "AnswerError",
    "Confinement",
    "Ended",
    "Limits",
    "call_limited",
    "decode",
    "descendants",
    "encode",
    "in_worker",
    "prepare_limited",
    "run_limited",
    "sendable",
    "start_clock",
]
