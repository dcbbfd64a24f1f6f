"""Every choice that arena offers, with its default: options, parameters and settings."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterable, Iterator
from importlib import metadata
from typing import Any

import typer
from pydantic import BaseModel

import arena
from arena.cli.commands import simulate
from arena.config import Settings
from arena.simulation import requests
from executed_again import executed_again
from kept import check_kept


def test_every_choice_is_the_kept_one() -> None:
    lines = (*options(), *parameters(), *fields_of_requests(), *settings_of(Settings))
    check_kept("choices.txt", "\n".join(lines) + "\n")


def options() -> Iterator[str]:
    for point in sorted(metadata.entry_points(group="arena.commands")):
        yield from options_of(point.name, point.module, point.attr)
    for name in simulate.COMMANDS:
        yield from options_of(f"simulate {name}", f"arena.cli.commands.simulate_{name}", "app")


def options_of(place: str, module: str, app: str) -> Iterator[str]:
    command = typer.main.get_command(getattr(executed_again(module), app))
    for name, subcommand in commands(command, place):
        for option in subcommand.params:
            limits = {"min": option.min, "max": option.max, "required": option.required or None}
            limits_text = "".join(
                f", {key} {limit}" for key, limit in limits.items() if limit is not None
            )
            yield line_of(f"arena {name}", ", ".join(option.opts), option.default) + limits_text


def commands(command: Any, name: str) -> Iterable[tuple[str, Any]]:
    if not hasattr(command, "commands"):
        return [(name, command)]
    children = sorted(command.commands.items())
    return [named for part, child in children for named in commands(child, f"{name} {part}")]


def parameters() -> Iterator[str]:
    for name in sorted(arena.__all__):
        if inspect.isfunction(function := getattr(arena, name)):
            again = executed_again(inspect.unwrap(function).__module__)
            for parameter in inspect.signature(getattr(again, name)).parameters.values():
                yield line_of(f"arena.{name}", str(parameter.name), parameter.default)


def fields_of_requests() -> Iterator[str]:
    for name, request in sorted(vars(executed_again(requests.__name__)).items()):
        if name.endswith("Request"):
            for field in dataclasses.fields(request):
                yield line_of(name, field.name, field.default)


def settings_of(model: type[BaseModel], table: str = "") -> Iterator[str]:
    for key, field in model.model_fields.items():
        if inspect.isclass(field.annotation) and issubclass(field.annotation, BaseModel):
            yield from settings_of(field.annotation, f"[{key}]")
        else:
            yield line_of(table, key, field.default)


def line_of(place: str, name: str, default: Any) -> str:
    is_plain = default is None or isinstance(default, str | int | float | tuple)
    return f"{place} {name} = {default!r}" if is_plain else f"{place} {name}"
