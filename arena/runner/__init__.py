"""A machine that runs programs of a served competition: it asks for work and sends results."""

from arena.runner.runner import Runner
from arena.runner.server import RunnerKey
from arena.runner.work_folder import WorkFolder

__all__ = ["Runner", "RunnerKey", "WorkFolder"]
