"""Names, parameters and families."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from arena.errors import DuplicateNameError, PluginError, UnknownNameError, UsageError
from arena.interfaces import Deferred
from arena.plugin.registry import Registry, nearest
from arena.plugin.specification import Specification, parse_specification, split_specifications


@dataclass(frozen=True)
class Rounding:
    step: float = 1e-5
    mode: str = "nearest"

    def __post_init__(self) -> None:
        if self.step <= 0:
            raise UsageError("The step must be positive.")


class Family:
    prefix = "made"

    def make(self, rest: str, parameters: Mapping[str, Any]) -> Any:
        return (rest, dict(parameters))

    def known(self) -> Sequence[str]:
        return ()


@pytest.fixture
def registry() -> Registry[Any]:
    registry = Registry[Any]("mechanism")
    registry.add("rounding", Rounding(), plugin="mine")
    registry.add("full", object(), plugin="mine")
    registry.add_family(Family(), plugin="theirs")  # type: ignore[arg-type]
    return registry


def test_parameters_are_the_fields_of_a_dataclass(registry: Registry[Any]) -> None:
    assert registry.resolve("rounding(step=0.01, mode=down)") == Rounding(0.01, "down")
    assert registry.resolve("rounding") == Rounding()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "rounding(steps=1)",
            "no parameter 'steps'. Did you mean 'step'? Its parameters: step, mode.",
        ),
        ("full(step=1)", "no parameter 'step'. It has no parameters."),
        ("rounding(step=0)", "The step must be positive"),
        ("rounding(0.1)", "not of the form"),
        ("rounding(step=)", "not of the form"),
        ("rounding(step=1", "not of the form"),
        ("rounding(step=1, step=2)", "not of the form"),
        ("rounding(**{'step': 1})", "not of the form"),
        ("rounding(step=__import__('os'))", "not of the form"),
        ("", "not of the form"),
        ("made:x)", "ends with a closing bracket that was never opened"),
    ],
)
def test_wrong_parameters_are_refused(registry: Registry[Any], text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        registry.resolve(text)
    assert message in str(caught.value)


def test_unknown_names_are_guessed(registry: Registry[Any]) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'rounding'"):
        registry.resolve("ruonding(step=1)")
    with pytest.raises(UnknownNameError, match="There are: full, made:, rounding"):
        registry.resolve("zzz")
    with pytest.raises(UnknownNameError, match="Did you mean 'full'"):
        registry.plugin_of("fully")


def test_at_most_three_names_are_suggested_whatever_their_case_and_hyphens() -> None:
    # All four are as similar; of equals the last ones are named.
    assert nearest("score", ["score1", "score2", "score3", "score4"]) == (
        "'score4' or 'score3' or 'score2'"
    )
    assert nearest("LOG-LOSS", ["Log_Loss", "mae"]) == "'Log_Loss'"
    assert nearest("mae_of_rows", ["mae", "rows", "ma"]) == "'mae'"
    assert nearest("maes", ["of_rows"]) == ""


@pytest.mark.parametrize("n_names", [0, 30, 31])
def test_up_to_thirty_names_are_listed_where_none_is_similar(n_names: int) -> None:
    registry = Registry[Any]("metric")
    for number in range(n_names):
        registry.add(f"m{number:02}", object(), plugin="mine")
    names = ", ".join(f"m{number:02}" for number in range(30))
    messages = {
        0: "There is no metric 'zzz': no plugin provides any.",
        30: f"There is no metric 'zzz'. There are: {names}.",
        31: "There is no metric 'zzz': 'arena metrics' lists all.",
    }
    with pytest.raises(UnknownNameError) as caught:
        registry.resolve("zzz")
    assert str(caught.value) == messages[n_names]


def test_a_prefix_is_guessed_where_no_family_knows_the_name() -> None:
    class Unknowing(Family):
        def __init__(self, prefix: str) -> None:
            self.prefix = prefix

        def make(self, rest: str, parameters: Mapping[str, Any]) -> Any:
            raise UnknownNameError(f"There is no {rest}.")

    registry = Registry[Any]("metric")
    for prefix in ("", "kaggle", "sklearn"):
        registry.add_family(Unknowing(prefix), plugin="mine")  # type: ignore[arg-type]
    for name, message in {
        "kagle:a": "There is no kagle:a. Did you mean the prefix 'kaggle'?",
        "kaggle:a": "There is no a.",
        "zzz:a": "There is no zzz:a.",
    }.items():
        with pytest.raises(UnknownNameError) as caught:
            registry.resolve(name)
        assert str(caught.value) == message
    with pytest.raises(UnknownNameError) as caught:
        registry.resolve("metric.py")
    assert str(caught.value) == (
        "There is no metric 'metric.py'. Name a function of the file: metric.py:FUNCTION."
    )


def test_families_make_items_on_demand(registry: Registry[Any]) -> None:
    assert registry.resolve("made:a.b:c(x=1)") == ("a.b:c", {"x": 1})
    assert registry.plugin_of("made:anything") == "theirs"
    assert registry.plugin_of("rounding(step=1)") == "mine"
    with pytest.raises(DuplicateNameError):
        registry.add_family(Family(), plugin="other")  # type: ignore[arg-type]


def test_specifications_survive_being_written() -> None:
    for text in ("full", "f1(average=macro)", "x(a=1, b=[1, 'two'], c=None, d='not bare')"):
        specification = parse_specification(text)
        assert parse_specification(str(specification)) == specification
    assert str(Specification("f1")) == "f1"


def test_a_specification_is_a_name_and_parameters() -> None:
    truths = {"x": True, "y": False, "z": True, "w": False}
    for text, name, parameters in (
        ("a", "a", {}),
        (" a ( ) ", "a", {}),
        ("a\n(x = 1)\n", "a", {"x": 1}),
        ("a(x=true, y=FALSE, z=True, w=False)", "a", truths),
        ("a(x=None, y=none, z=nothing)", "a", {"x": None, "y": "none", "z": "nothing"}),
        ("a(x=[1, b, 'c', true], y=(2.5,))", "a", {"x": [1, "b", "c", True], "y": [2.5]}),
        ("a:b", "a:b", {}),
        ("a:b(c)/d.py:e", "a:b(c)/d.py:e", {}),
        ("a:b(c)/d.py:e (x=-1)", "a:b(c)/d.py:e", {"x": -1}),
        (":b(x=y)", ":b", {"x": "y"}),
    ):
        specification = parse_specification(text)
        assert (specification.name, dict(specification.parameters)) == (name, parameters)
    for text in ("a(x=1)b", "a:b(1)", "a:(b)"):
        with pytest.raises(UsageError, match=f"^{re.escape(repr(text))} is not of the form"):
            parse_specification(text)


def test_lists_are_split_outside_brackets() -> None:
    assert split_specifications("a(x=[1,2], y=3), b ,, c()") == ("a(x=[1,2], y=3)", "b", "c()")
    assert split_specifications("a(x=([1,2],3)),b(y=1),") == ("a(x=([1,2],3))", "b(y=1)")
    assert split_specifications(" , ") == ()


def test_words_that_would_be_read_as_something_else_are_quoted() -> None:
    words = {"a": "word", "b": "True", "c": "NONE", "d": "two words", "e": "1", "f": True}
    written = "m(a=word, b='True', c='NONE', d='two words', e='1', f=True)"
    assert str(Specification("m", words)) == written
    assert parse_specification(written).parameters == words


def test_what_is_imported_later_is_checked_and_left_out_of_lists() -> None:
    failed: list[tuple[str, str]] = []
    registry = Registry[Any]("metric", Named, lambda plugin, what, _: failed.append((plugin, what)))
    registry.add_deferred(Deferred("fraction", "fractions:Fraction", (1, 2)), plugin="mine")
    registry.add_deferred(Deferred("lost", "no_such_module:Metric"), plugin="mine")
    registry.add_deferred(Deferred("named", "types:SimpleNamespace"), plugin="mine")
    registry.add("here", object(), plugin="mine")
    with pytest.raises(DuplicateNameError, match="named 'lost'"):
        registry.add("lost", object(), plugin="other")
    with pytest.raises(PluginError, match="loading the metric 'lost': ModuleNotFoundError"):
        registry.resolve("lost")
    with pytest.raises(PluginError, match="SimpleNamespace is no metric: it lacks numerator"):
        registry.resolve("named")
    assert registry.plugin_of("lost") == "mine"
    assert registry.resolve("fraction") is registry.resolve("fraction")
    assert [entry.name for entry in registry] == ["fraction", "here"]
    assert failed == [("mine", f"loading the metric {name!r}") for name in ("lost", "named")]


class Named:
    """What an item must have."""

    numerator = 0


@pytest.mark.parametrize("parameter", ["greater_is_better=false", "name=other", "prediction=value"])
def test_what_an_item_declares_is_no_parameter(parameter: str) -> None:
    @dataclass(frozen=True)
    class Metric:
        step: float = 0.1
        name: str = "mine"
        greater_is_better: bool = True
        prediction: str = "label"

    registry = Registry[Metric]("metric")
    registry.add("mine", Metric(), plugin="mine")
    assert registry.resolve("mine(step=0.2)").step == 0.2
    with pytest.raises(UsageError, match="has no parameter .* Its parameters: step"):
        registry.resolve(f"mine({parameter})")
