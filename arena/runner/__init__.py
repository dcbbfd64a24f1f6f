"""A machine that runs programs of a served competition: it asks for work and sends results."""

from arena.runner.runner import Runner
from arena.runner.server import RunnerKey

__all__ = ["Runner", "RunnerKey"]
