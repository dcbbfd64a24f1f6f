"""The promises of the plugin manager: a plugin that fails is named, and the others run."""

from __future__ import annotations

import logging
import os
import re
import traceback
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from arena.errors import ArenaError, DuplicateNameError, PluginError, UnknownNameError
from arena.hookspecs import hookimpl
from arena.plugin.info import (
    Failure,
    PluginInfo,
    attributed,
    attributed_unquoted,
    log_failure,
    may_implement,
)
from arena.plugin.manager import PluginManager
from arena.types import RULE_FAILED, Fault, PredictionKind
from competition_info import mae_info


class ConstantMetric:
    """A metric of a stranger's plugin."""

    greater_is_better = True
    prediction = PredictionKind.VALUE

    def __init__(self, name: str) -> None:
        self.name = name

    def score(self, truth: Any, prediction: Any, weight: Any = None) -> float:
        return 1.0


def providing(*names: str) -> Any:
    class Plugin:
        @hookimpl
        def provide_metrics(self) -> Iterator[ConstantMetric]:
            yield from (ConstantMetric(name) for name in names)

    return Plugin()


class Broken:
    """Fails half-way through what it hands over."""

    @hookimpl
    def provide_metrics(self) -> Iterator[ConstantMetric]:
        yield ConstantMetric("half")
        raise ValueError("no licence")

    @hookimpl
    def check_submission(self, predictions: Any) -> Iterator[Fault]:
        raise RuntimeError("no rule")


@pytest.fixture
def manager() -> PluginManager:
    return PluginManager(entry_points=False)


COMPETITION = mae_info()


def test_each_manager_is_fresh(manager: PluginManager) -> None:
    manager.register(providing("one"), "first")
    assert PluginManager(entry_points=False).plugins == ()
    assert [entry.name for entry in manager.metrics] == ["one"]
    assert manager.plugins == (PluginInfo("first", "", origin="Plugin", load_seconds=0.0),)


def test_a_broken_plugin_is_named_and_skipped(manager: PluginManager) -> None:
    manager.register(Broken(), "broken")
    manager.register(providing("good"), "working")
    assert [(entry.name, entry.plugin) for entry in manager.metrics] == [("good", "working")]
    assert str(manager.failures[0]) == (
        "plugin 'broken' failed while running provide_metrics: ValueError: no licence"
    )


def test_a_broken_rule_does_not_stop_the_rules_of_others(manager: PluginManager) -> None:
    class Rule:
        @hookimpl
        def check_submission(self, predictions: Any) -> list[Fault]:
            return [Fault("too round", "Every value is a whole number.")]

    manager.register(Broken(), "broken")
    manager.register(Rule(), "rule")
    faults = manager.check_submission(np.zeros((3, 1)), COMPETITION)
    assert [fault.kind for fault in faults] == [RULE_FAILED, "too round"]
    assert "A rule of the organiser failed (plugin 'broken')" in faults[0].message
    assert manager.failures[0].plugin == "broken"


def test_a_misspelt_hook_is_refused(manager: PluginManager) -> None:
    class Misspelt:
        @hookimpl
        def provide_metric(self) -> list[Any]:
            return []

    with pytest.raises(PluginError, match="'provide_metric', which is not a hook. Did you mean"):
        manager.register(Misspelt(), "misspelt")
    assert manager.plugins == ()
    manager.register(providing("one"), "misspelt")
    assert manager.metrics.resolve("one").name == "one"


def test_an_argument_that_the_hook_does_not_have_is_refused(manager: PluginManager) -> None:
    class Greedy:
        @hookimpl
        def check_submission(self, labels: Any) -> None:
            """Ask for what is not handed over."""

    with pytest.raises(PluginError, match="labels"):
        manager.register(Greedy(), "greedy")


def test_wrappers_are_refused(manager: PluginManager) -> None:
    import pluggy

    class Wrapper:
        @pluggy.HookimplMarker("arena")(wrapper=True)
        def provide_metrics(self) -> Any:
            return (yield)

    with pytest.raises(PluginError, match="wraps the hook 'provide_metrics'"):
        manager.register(Wrapper(), "wrapper")


def test_two_plugins_of_one_name_are_refused(manager: PluginManager) -> None:
    manager.register(providing("one"), "twin")
    with pytest.raises(DuplicateNameError, match="twin"):
        manager.register(providing("two"), "twin")


def test_two_items_of_one_name_are_refused(manager: PluginManager) -> None:
    manager.register(providing("mae"), "first")
    manager.register(providing("mae"), "second")
    with pytest.raises(DuplicateNameError, match=r"'first' and 'second' both provide .* 'mae'"):
        _ = manager.metrics


def test_an_item_that_is_no_metric_is_named(manager: PluginManager) -> None:
    class Wrong:
        @hookimpl
        def provide_metrics(self) -> list[Any]:
            return [SimpleNamespace(name="bare", score=None), ConstantMetric("whole")]

    manager.register(Wrong(), "wrong")
    assert [entry.name for entry in manager.metrics] == ["whole"]
    assert "it lacks greater_is_better, prediction" in str(manager.failures[0])


def test_a_family_may_provide_metrics_only(manager: PluginManager) -> None:
    class Family:
        prefix = "made"

        def make(self, rest: str, parameters: Any) -> Any:
            return ConstantMetric(rest)

        def known(self) -> list[str]:
            return []

    class Provider:
        @hookimpl
        def provide_metrics(self) -> list[Any]:
            return [Family()]

        @hookimpl
        def provide_mechanisms(self) -> list[Any]:
            return [Family()]

    manager.register(Provider(), "provider")
    assert manager.metrics.resolve("made:one").name == "one"
    assert not manager.failures
    assert not list(manager.mechanisms)
    (failure,) = manager.failures
    assert "Family is no mechanism: " in str(failure)


def test_the_first_reader_that_knows_a_format_wins(manager: PluginManager) -> None:
    class Reader:
        def __init__(self, table: Any) -> None:
            self.table = table

        @hookimpl
        def read_predictions(self, path: Path) -> Any:
            return self.table

    mine, late = pa.table({"id": ["a"]}), pa.table({"id": ["b"]})
    for name, table in (("a", None), ("b", ["no table"]), ("c", mine), ("d", late)):
        manager.register(Reader(table), name)
    assert manager.read_predictions(Path("x.arrow"), COMPETITION) is mine
    assert "it returned list and no pyarrow.Table" in str(manager.failures[0])


def test_events_reach_everyone(manager: PluginManager) -> None:
    heard = []

    class Listener:
        @hookimpl
        def competition_finalized(self, result: Any) -> None:
            heard.append(result)
            raise ValueError("cannot cope")

    manager.register(Listener(), "a")
    manager.register(Listener(), "b")
    manager.competition_finalized("result", COMPETITION)
    assert heard == ["result", "result"]
    assert [failure.plugin for failure in manager.failures] == ["a", "b"]


def test_guarded_code_of_a_plugin_is_named(manager: PluginManager) -> None:
    with manager.guarded("mine", "running the analysis 'x'"):
        raise KeyError("secret [34.8]")
    message = str(manager.failures[0])
    assert message.startswith(
        "plugin 'mine' failed while running the analysis 'x': KeyError at test_manager.py, "
    )
    assert "secret" not in message


def test_a_hook_that_is_handed_a_result_is_not_quoted(manager: PluginManager) -> None:
    class Listener:
        @hookimpl
        def provide_report_sections(self, result: Any) -> Any:
            raise ValueError(f"secret {result}")

    manager.register(Listener(), "mine")
    assert manager.provide_report_sections([34.8]) == ()
    message = str(manager.failures[0])
    assert "running provide_report_sections: ValueError at test_manager.py" in message
    assert "34.8" not in message


def test_attributed_leaves_errors_of_arena_alone() -> None:
    with pytest.raises(UnknownNameError, match="as it is"), attributed("mine", "scoring"):
        raise UnknownNameError("as it is")


def test_what_a_metric_raises_is_placed_and_not_quoted() -> None:
    with pytest.raises(PluginError) as raised, attributed_unquoted("mine", "scoring x"):
        raise RuntimeError("secret [34.8]")
    said = str(raised.value)
    assert "Plugin 'mine' failed while scoring x: RuntimeError at test_manager.py" in said
    assert "secret" not in said
    assert "secret [34.8]" in "".join(traceback.format_exception(raised.value))  # --verbose


# -- entry points --------------------------------------------------------------------------------


def _install(folder: Path, distribution: str, module: str, source: str, plugin: str) -> None:
    (folder / f"{module}.py").write_text(source)
    info = folder / f"{distribution}-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text(f"[arena]\n{plugin} = {module}\n")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Provide a folder whose distributions are the only ones that provide plugins."""
    monkeypatch.syspath_prepend(str(tmp_path))
    entry_points = metadata.entry_points

    def only_here() -> metadata.EntryPoints:
        return metadata.EntryPoints(
            point
            for point in entry_points(group="arena")
            if point.dist is not None and Path(str(point.dist.locate_file(""))) == tmp_path
        )

    monkeypatch.setattr(metadata, "entry_points", only_here)
    return tmp_path


def test_a_plugin_that_cannot_be_imported_is_named(site: Path) -> None:
    _install(site, "bad-plugin", "bad_plugin_module", "import does_not_exist_anywhere", "bad")
    _install(site, "exiting", "exiting_module", "raise SystemExit(3)", "exits")
    good = (
        "from arena.hookspecs import hookimpl\n@hookimpl\ndef provide_metrics():\n    return None\n"
    )
    _install(site, "good-plugin", "good_plugin_module", good, "good")
    manager = PluginManager()
    assert [(info.name, info.failed_to_load) for info in manager.plugins] == [
        ("bad", True),
        ("exits", True),
        ("good", False),
    ]
    assert manager.plugins[2].version == "1.2"
    assert manager.plugins[2].origin == "good-plugin 1.2"
    assert list(manager.metrics) == []
    assert "plugin 'bad' failed while loading: ModuleNotFoundError" in str(manager.failures[0])


def test_a_plugin_that_failed_is_named_where_its_item_is_missed(
    site: Path, caplog: pytest.LogCaptureFixture
) -> None:
    _install(site, "bad-plugin", "bad_plugin_module", "import does_not_exist_anywhere", "bad")
    manager = PluginManager()
    message = "plugin 'bad' failed while loading: ModuleNotFoundError"
    assert message in caplog.text
    for registry in (manager.metrics, manager.mechanisms, manager.analyses, manager.competitors):
        with pytest.raises(UnknownNameError, match="There is no .*broken.*" + message):
            registry.resolve("broken")


def test_a_logged_note_cannot_move_the_cursor(caplog: pytest.LogCaptureFixture) -> None:
    error = ArenaError("The metric failed.")
    error.add_note("Traceback:\nKeyError: \x1b[31m")
    with caplog.at_level(logging.DEBUG, "arena"):
        log_failure(error, "team.csv")
    assert [record.message for record in caplog.records] == [
        "team.csv: The metric failed.",
        "Traceback:\nKeyError: \\x1b[31m",
    ]


def test_a_plugin_that_is_installed_later_is_found(site: Path) -> None:
    os.utime(site, (0, 0))
    assert PluginManager().plugins == ()
    _install(site, "later", "later_module", "", "later")
    assert [info.name for info in PluginManager().plugins] == ["later"]


def test_an_installed_plugin_with_a_misspelt_hook_is_skipped(site: Path) -> None:
    source = "from arena.hookspecs import hookimpl\n@hookimpl\ndef provide_metrix(): return []\n"
    _install(site, "misspelt", "misspelt_module", source, "misspelt")
    manager = PluginManager()
    assert manager.plugins[0].failed_to_load
    assert "Did you mean 'provide_metrics'" in str(manager.failures[0])


def test_two_distributions_with_one_plugin_name_are_refused(site: Path) -> None:
    _install(site, "first", "first_module", "", "same")
    _install(site, "second", "second_module", "", "same")
    with pytest.raises(DuplicateNameError, match=r"first 1\.2 and second 1\.2"):
        PluginManager()


@pytest.mark.parametrize(
    ("required", "said"),
    [
        (
            ["later", "own"],
            "requires the plugin 'own', and arena could not load it.",
        ),
        (
            ["own", "other"],
            "requires the plugins 'own', 'other', and arena could not load them.",
        ),
    ],
)
def test_required_plugins_that_are_missing_are_named(
    site: Path, required: list[str], said: str
) -> None:
    _install(site, "later", "later_module", "", "later")
    with pytest.raises(PluginError, match=re.escape(said)):
        PluginManager().within(site, required=required).require_plugins()
    PluginManager().within(site, required=["later"]).require_plugins()


def test_a_failure_is_told_by_the_first_line_of_its_error() -> None:
    for error, description in (
        (ValueError("\n one\ntwo"), "ValueError: one"),
        (KeyError(), "KeyError: no message"),
    ):
        failure = Failure("mine", "loading", error)
        assert str(failure) == f"plugin 'mine' failed while loading: {description}"


def test_a_plugin_may_hold_a_rule_unless_its_files_do_not_name_the_hook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    package = tmp_path / "ruled_package" / "below"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").write_text("")
    (package / "rules.py").write_text("def check_submission(predictions): ...")
    (tmp_path / "ruled_module.py").write_text("def check_submission(predictions): ...")
    (tmp_path / "free_module.py").write_text("def provide_metrics(): ...")
    for name, may in {
        "ruled_package.below:plugin": True, "ruled_module": True, "free_module:plugin": False,
        "no_such_module_anywhere": True, "sys": True, ":no module": True,
    }.items():  # fmt: skip
        point = metadata.EntryPoint("x", name, "arena")
        assert may_implement(point, "check_submission") is may, name
    (package / "rules.py").unlink()
    point = metadata.EntryPoint("x", "ruled_package", "arena")
    assert not may_implement(point, "check_submission")


def test_every_error_has_an_exit_code() -> None:
    def tree(kind: type[ArenaError]) -> list[type[ArenaError]]:
        return [kind, *(below for child in kind.__subclasses__() for below in tree(child))]

    import arena.errors

    documented = arena.errors.__doc__ or ""
    exit_codes = {"UsageError": 2, "PluginError": 3}
    for kind in tree(ArenaError):
        assert kind.exit_code == exit_codes.get(kind.__name__, 1)
        assert kind.__doc__
        assert kind.__name__ in documented or kind.__module__ != "arena.errors"
