"""`arena attack`: its document, its exit code, its advice, and what it refuses."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import arena
from arena.errors import InputError, UsageError
from arena.types import Usage
from arena.utils.engines import using
from arena.utils.finished_tasks import resumable
from arena.utils.parallel import NoProgress
from arena_competitors import campaign, smallest_gain
from arena_competitors.advice import Verdict, advise, evaluate
from arena_competitors.campaign import Campaign, Curve
from arena_competitors.cli import attack as attack_command
from arena_competitors.cli.request import AttackRequest, prepare
from arena_competitors.public_board import BoardSettings
from arena_competitors.rows import competition_rows, constant_prediction, synthetic_rows
from arena_competitors.smallest_gain import smallest_gain_shown
from arena_metrics.pointwise import Accuracy
from arena_metrics.regression import MeanAbsoluteError
from attacks import competitor_named, manager, mechanism_named, metric_named
from clusters import InProcess
from competition_folder import change, document
from counted_progress import CountedProgress
from kept import check_kept, check_kept_document, with_short_curves
from program import UNPROTECTED, run_here, write_csv

SMALL = ("--rows", 200, "--submissions", 30, "--repeats", 3)


def attack(folder: Path, *arguments: object, code: int = 0) -> Any:
    return document(run_here("attack", *arguments, "--json", cwd=folder), "attack", code)


def test_the_document(tmp_path: Path) -> None:
    names = "boosting, block-flip(rows=8)"
    printed = attack(tmp_path, "--attack", names, "--mechanism", "kaggle, ladder-free", *SMALL)
    assert (printed["rows"], printed["total_rows"], printed["random_labels"]) == (200, 600, True)
    pairs = {(curve["attack"], curve["mechanism"]) for curve in printed["curves"]}
    assert len(pairs) == 4
    for curve in printed["curves"]:
        assert curve["bias"] == pytest.approx(curve["released"] - curve["released_fresh"])
    assert [curve["submissions"] for curve in printed["curves"]][:30] == list(range(1, 31))
    assert printed["budget"] is printed["within_budget"] is None
    assert "--budget" in printed["advice"]


def test_what_people_are_shown_is_the_kept_whole(tmp_path: Path) -> None:
    """Two attacks on two mechanisms, with a budget that one of them exceeds."""
    names = "boosting, pair-probe"
    charts = ("--chart", "curves.json", "--feedback-chart", "feedback.json")
    called = run_here(
        "attack", "--attack", names, "--mechanism", "full, ladder(eta=0.2)", "--rows", 20,
        "--submissions", 5, "--repeats", 2, "--seed", 3, "--budget", 0.15, *charts, cwd=tmp_path,
    )  # fmt: skip
    assert called.returncode == 1
    check_kept("attack.txt", called.stdout + called.stderr)
    chart_documents = [
        json.loads((tmp_path / name).read_text(encoding="utf-8")) for name in charts[1::2]
    ]
    check_kept_document("attack-charts", with_short_curves(chart_documents))


@pytest.mark.slow
def test_the_same_seed_prints_the_same(tmp_path: Path) -> None:
    first, same_seed, other = (attack(tmp_path, *SMALL, "--seed", seed) for seed in (3, 3, 4))
    assert first == same_seed
    assert first["curves"] != other["curves"]


@pytest.mark.slow
def test_a_cluster_gives_the_same_numbers() -> None:
    sizes: Any = {"rows": 60, "submissions": 8, "repeats": 3}
    attacks, cluster = ["boosting", "block-flip(rows=4)"], InProcess()
    here = arena.attack(attacks, ["kaggle", "ladder-free"], **sizes).to_dict()
    with using(cluster.engine()):
        on_cluster = arena.attack(attacks, ["kaggle", "ladder-free"], **sizes).to_dict()
    assert cluster.calls >= 12
    assert on_cluster == here


@pytest.mark.slow
def test_an_interrupted_attack_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: Any = {"rows": 60, "submissions": 8, "repeats": 3}
    names: Any = (["boosting", "block-flip(rows=4)"], ["kaggle", "ladder-free"])
    expected = arena.attack(*names, **sizes).to_dict()
    played, plays = campaign.play_attack, [0]

    def counted(*arguments: Any) -> Any:
        plays[0] += 1
        if plays[0] == 8:
            raise KeyboardInterrupt
        return played(*arguments)

    monkeypatch.setattr(campaign, "play_attack", counted)
    with pytest.raises(KeyboardInterrupt), resumable(tmp_path, NoProgress()):
        arena.attack(*names, **sizes)
    with resumable(tmp_path, NoProgress()):
        assert arena.attack(*names, **sizes).to_dict() == expected
    assert plays == [8 + 12 - 7]
    with resumable(tmp_path, NoProgress()):
        assert arena.attack(*names, **sizes, seed=1).to_dict() != expected
    assert plays == [8 + 12 - 7 + 12]


def test_repetitions_that_were_kept_are_not_played_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    played, seeds = campaign.play_attack, []

    def counted(of_campaign: Campaign, *play: Any) -> Any:
        seeds.append(of_campaign.seed)
        return played(of_campaign, *play)

    def digest_of(*objects: Any) -> str | None:
        return None if "lambda" in repr(objects) else repr(objects)

    monkeypatch.setattr(campaign, "play_attack", counted)
    monkeypatch.setattr(campaign, "digest_of", digest_of)
    make_rows = partial(synthetic_rows, metric_named("accuracy"), 40, 40, 2)
    mechanisms = {name: mechanism_named(name) for name in ("kaggle", "full")}
    kept_note = "repetitions are already done: an interrupted command kept them."
    rows_of: dict[int, Any] = {}
    for attacks, seed, n_played, messages in (
        (["boosting"], 0, 4, []),
        (["boosting"], 0, 0, [f"4 of 4 {kept_note}"]),
        (["boosting", "copycat"], 0, 4, [f"4 of 8 {kept_note}"]),
        (["boosting"], 1, 4, []),
    ):
        progress, before = CountedProgress(), len(seeds)
        with resumable(tmp_path, progress):
            curves = Campaign(make_rows, 5, 2, seed=seed).run(
                {name: competitor_named(name) for name in attacks}, mechanisms, progress
            )
        assert (len(seeds) - before, progress.messages) == (n_played, messages)
        assert progress.done == progress.total == 4 * len(attacks)
        rows = [row for curve in curves[:2] for row in curve.to_rows()]
        assert rows_of.setdefault(seed, rows) == rows
    assert rows_of[0] != rows_of[1]
    progress = CountedProgress()
    with resumable(tmp_path, progress):  # a function without a name cannot be compared
        unnamed = Campaign(
            lambda rng: synthetic_rows(metric_named("accuracy"), 40, 40, 2, rng), 5, 1
        )
        unnamed.run({"boosting": competitor_named("boosting")}, mechanisms, progress)
    assert progress.messages == [
        "Some of the attacks or mechanisms cannot be compared with another time: they are not kept."
    ]


@pytest.mark.slow
def test_the_exit_code_says_whether_the_bias_stayed_under_the_budget(tmp_path: Path) -> None:
    over = attack(tmp_path, *SMALL, "--mechanism", "kaggle", "--budget", 0.01, code=1)
    assert over["within_budget"] is False
    assert "No mechanism tried" in over["advice"]
    under = attack(tmp_path, *SMALL, "--mechanism", "kaggle", "--budget", 0.5)
    assert under["within_budget"] is True
    called = run_here("attack", *SMALL, "--budget", 0.0001, cwd=tmp_path)
    assert called.returncode == 1
    assert "exceeds the budget of 0.0001" in called.stderr


@pytest.mark.slow
def test_the_advice_takes_what_hides_least_within_the_budget(tmp_path: Path) -> None:
    names = "kaggle, ladder(eta=0.04), ladder(eta=0.08)"
    printed = attack(
        tmp_path, "--mechanism", names, "--rows", 1000, "--submissions", 100, "--repeats", 3,
        "--budget", 0.05, code=1,
    )  # fmt: skip
    verdicts = {verdict["mechanism"]: verdict for verdict in printed["verdicts"]}
    assert not verdicts["kaggle"]["within_budget"]
    assert verdicts["ladder(eta=0.04)"]["within_budget"]
    assert (
        verdicts["kaggle"]["smallest_gain"]
        < verdicts["ladder(eta=0.04)"]["smallest_gain"]
        < verdicts["ladder(eta=0.08)"]["smallest_gain"]
    )
    assert printed["advice"].startswith("Choose ladder(eta=0.04)")


@pytest.mark.parametrize("budget", [None, 0.02, 0.0001])
def test_every_mechanism_that_shows_no_gain_is_named(budget: float | None) -> None:
    biases = {"kaggle": 0.015, "ladder(eta=0.1)": 0.001, "ladder(eta=0.2)": 0.0005}
    verdicts = [
        Verdict(name, "boosting", bias, 0.001 if name == "kaggle" else None, bias <= (budget or 1))
        for name, bias in biases.items()
    ]
    advice = advise(verdicts, budget)
    assert "did not show even the largest honest gain tried in nine of ten trials." in advice
    useless = advice.split(". ")[-1 if budget else -2]
    assert {name for name in biases if name in useless} == {"ladder(eta=0.1)", "ladder(eta=0.2)"}


COSTS = "{} shows honest gains of {} or more in nine of ten trials; smaller gains less often."
NOT_SHOWN = "ladder(eta=0.1) did not show even the largest honest gain tried in nine of ten trials."


ASKED = {
    "attacks": "boosting", "mechanisms": None, "rows": None, "total_rows": None, "submissions": 400,
    "repeats": 5, "metric": None, "classes": None, "scope": None, "seed": 0, "budget": None,
}  # fmt: skip
"""What the command is asked without options."""


def choice(mechanism: str, budget: float, bias: float, gain: float) -> str:
    return (
        f"Choose {mechanism}: of the mechanisms that keep every attack within a bias of {budget} "
        f"(its largest is {bias}, by boosting) it shows the smallest honest gains. "
        f"{COSTS.format(mechanism, gain)}"
    )


def refusal(budget: float) -> str:
    return (
        f"No mechanism tried is shown to keep every attack within a bias of {budget} and to show "
        f"honest gains in nine of ten trials. The smallest bias is 0.001, with ladder(eta=0.1) "
        f"against boosting. Try a larger step, fewer submissions, a start from the baseline, an "
        f"instance per rank, or more public rows."
    )


@pytest.mark.parametrize(
    ("budget", "repeated", "said"),
    [
        (0.0189, True, f"{refusal(0.0189)} {NOT_SHOWN}"),
        (0.019, True, f"{choice('ladder-free', 0.019, 0.018, 0.0032)} {NOT_SHOWN}"),
        (0.0709, True, f"{choice('ladder-free', 0.0709, 0.018, 0.0032)} {NOT_SHOWN}"),
        (0.071, True, f"{choice('kaggle', 0.071, 0.07, 0.0001)} {NOT_SHOWN}"),
        (
            0.071,
            False,
            "One repetition does not show how much the bias varies, so no mechanism is "
            f"recommended. Use --repeats 5 or more. {NOT_SHOWN}",
        ),
        (
            None,
            True,
            "The largest bias of each mechanism: ladder(eta=0.1): 0.001 by boosting; ladder-free: "
            "0.018 by boosting; kaggle: 0.07 by boosting. "
            f"{COSTS.format('ladder-free', 0.0032)} {NOT_SHOWN} Set the largest bias you accept "
            "with --budget to get a recommendation.",
        ),
    ],
)
def test_the_advice_for_each_budget(budget: float | None, repeated: bool, said: str) -> None:
    """The upper bounds of the biases are 0.002, 0.019 and 0.071: a budget may equal one."""
    verdicts = [
        Verdict(name, "boosting", bias, gain, None, high if repeated else None)
        for name, bias, gain, high in (
            ("kaggle", 0.07, 0.0001, 0.071),
            ("ladder-free", 0.018, 0.0032, 0.019),
            ("ladder(eta=0.1)", 0.001, None, 0.002),
        )
    ]
    assert advise(verdicts, budget) == said


def test_a_verdict_by_hand() -> None:
    """The largest bias is the later attack's; the bound is 6.313752 errors above it at 1 degree."""

    def curve(attack: str, biases: list[float], error: float, repeats: int = 2) -> Curve:
        means, errors = {"bias": np.array(biases)}, {"bias": np.full(2, error)}
        return Curve(
            attack,
            f"{attack}(1)",
            mechanism="full",
            submissions=(1, 2),
            mean=means,
            standard_error=errors,
            repeats=repeats,
        )

    curves = [curve("one", [0.1, 0.2], 0.02), curve("two", [0.25, 0.15], 0.01)]
    limits: Any = ({"full": 0.05}, {"full": None})
    assert [curve.last_bias for curve in curves] == [0.2, 0.15]
    (verdict,) = evaluate(curves, *limits, 0.25)
    assert verdict == Verdict(
        "full", "two(1)", 0.25, 0.05, True, pytest.approx(0.2 + 0.02 * 6.313752)
    )  # 0.3263 beats 0.25 + 0.01 * 6.313752 = 0.3131
    (verdict,) = evaluate([curve("one", [0.1, 0.2], 0.0, repeats=1)], *limits, 0.1999)
    assert verdict == Verdict("full", "one(1)", 0.2, 0.05, False, None)
    (verdict,) = evaluate([*curves, curve("three", [0.1, 0.1], 0.0, repeats=1)], *limits, None)
    assert verdict.bias_high == pytest.approx(0.2 + 0.02 * 6.313752)
    assert verdict.within_budget is None


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"budget": -1e-9}, "--budget must be a bias of 0 or more, not -1e-09."),
        ({"budget": np.inf}, "--budget must be a bias of 0 or more, not inf."),
        ({"seed": 0.5}, "The seed, the submissions and the repetitions are whole numbers."),
        ({"seed": -1}, "The seed must be 0 or more."),
        ({"submissions": 0}, "At least 1 submission and 1 repetition are needed."),
        ({"repeats": 0}, "At least 1 submission and 1 repetition are needed."),
        ({"scope": "world"}, "--scope must be team, rank or competition, not 'world'."),
        ({"rows": 1}, "There must be at least 2 public rows, and as many rows in all: not 1 of 3."),
        (
            {"rows": 4, "total_rows": 3},
            "There must be at least 2 public rows, and as many rows in all: not 4 of 3.",
        ),
        ({"classes": 1}, "There must be at least 2 classes, not 1."),
        ({"metric": "bleu"}, "bleu takes texts, and no attack can guess texts."),
        ({"attacks": ","}, "Name at least one attack and one mechanism."),
        ({"mechanisms": ","}, "Name at least one attack and one mechanism."),
    ],
)
def test_what_a_study_refuses(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as refused:
        prepare(AttackRequest(**{**ASKED, "rows": 2, **changes}), None, 0.0, manager())
    assert str(refused.value) == said


def test_a_constant_submission_is_the_first_label_equal_chances_or_a_mean() -> None:
    labels, chances, numbers = (metric_named(name) for name in ("accuracy", "log_loss", "mae"))
    assert constant_prediction(labels, 2, 3).tolist() == [0, 0]
    assert constant_prediction(chances, 2, 2).tolist() == [0.5, 0.5]
    assert constant_prediction(chances, 1, 4).tolist() == [[0.25] * 4]
    assert constant_prediction(numbers, 2, None).tolist() == [1.0, 1.0]
    assert constant_prediction(numbers, 1, None, mean=3.5).tolist() == [3.5]


def test_the_least_that_can_be_attacked() -> None:
    """Two rows, all public: hidden are the same rows with new labels."""
    least = {
        "rows": 2,
        "total_rows": 2,
        "submissions": 1,
        "repeats": 1,
        "classes": 2,
        "budget": 0.0,
    }
    study = prepare(AttackRequest(**{**ASKED, **least}), None, 0.0, manager())
    assert study.example.hidden.tolist() == study.example.public.tolist() == [0, 1]
    study = prepare(AttackRequest(**ASKED), None, 0.0, manager())
    rows = study.example
    assert (len(rows.public), rows.n_rows, rows.n_classes) == (4_000, 12_000, 2)
    assert (study.campaign.submissions, study.campaign.repeats) == (400, 5)
    assert list(study.mechanisms) == ["kaggle", "ladder-free"]


def test_an_attack_of_one_setting_keeps_its_name_and_one_of_several_names_the_strongest() -> None:
    make_rows = partial(synthetic_rows, metric_named("accuracy"), 20, 20, 2)
    attacks = {
        "mine": competitor_named("block-flip(rows=4)"),
        "any": competitor_named("block-flip"),
    }
    mechanisms = {"kaggle": mechanism_named("kaggle")}
    mine, strongest = Campaign(make_rows, 3, 1).run(attacks, mechanisms)
    assert (mine.attack, mine.setting) == ("mine", "mine")
    assert strongest.attack == "any"
    assert strongest.setting.startswith("block-flip(rows=")


def test_a_team_of_programs_has_the_conduct_of_the_other_competitor() -> None:
    conducts = {
        name: competitor_named(f"program(of={name})").conduct  # type: ignore[attr-defined]
        for name in ("linear", "boosting", "copycat", "lightgbm")
    }
    assert conducts == {
        name: getattr(competitor_named(name), "conduct", "honest") for name in conducts
    }
    assert len({*conducts.values()}) > 1


def test_a_study_of_a_competition_has_its_rows_metric_and_public_board(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    solution = SimpleNamespace(
        targets=(SimpleNamespace(classes=("no", "yes")),),
        usage=np.array([Usage.PUBLIC] * 3 + [Usage.PRIVATE] * 2),
        n_rows=5,
        truth=np.array([0, 1, 1, 0, 1]),
    )
    settings = SimpleNamespace(
        metric=SimpleNamespace(specification="accuracy"),
        public=SimpleNamespace(mechanism="ladder(eta=0.1)", scope="competition"),
    )
    opened = SimpleNamespace(settings=settings, manager=manager(), solution=solution)

    @contextlib.contextmanager
    def look(*place: Any) -> Iterator[Any]:
        assert place == (Path("c"), 2.5)
        yield opened

    monkeypatch.setattr("arena.cli.folder.look_at_competition", look)
    options = {**ASKED, "attacks": "boosting", "submissions": 6, "repeats": 2, "seed": 4}
    for chosen, mechanisms, scope in (
        ({"mechanisms": None, "scope": None}, ["ladder(eta=0.1)"], "competition"),
        ({"mechanisms": "full, kaggle", "scope": "team"}, ["full", "kaggle"], "team"),
    ):
        study = prepare(AttackRequest(**{**options, **chosen}), Path("c"), 2.5, manager())
        assert [*study.mechanisms] == mechanisms
        assert study.campaign.settings == BoardSettings(6, scope)
        assert (study.campaign.seed, study.campaign.repeats, study.metric) == (4, 2, "accuracy")
        assert study.example.public_truth.tolist() == [0, 1, 1]
        assert study.example.hidden_truth.tolist() == [0, 1]
        assert (study.synthetic, study.example.n_classes) == (False, 2)
    for option, value in (("rows", 9), ("total_rows", 9), ("classes", 2), ("metric", "mae")):
        request = AttackRequest(**{**options, option: value})
        with pytest.raises(UsageError, match=f"^--{option.replace('_', '-')} comes from the compe"):
            prepare(request, Path("c"), 2.5, manager())


@pytest.mark.slow
def test_people_get_tables_and_a_picture(tmp_path: Path) -> None:
    charts = ("--chart", "curves.svg", "--feedback-chart", "feedback.svg")
    called = run_here("attack", *SMALL, *charts, cwd=tmp_path)
    assert called.returncode == 0, called.stderr
    words = called.stdout.replace("\n", " ")
    assert "smallest honest gain shown" in words
    assert "bias at the end" in words
    assert "largest bias" in words
    text = (tmp_path / "curves.svg").read_text(encoding="utf-8")
    assert text.count("<path") > 6
    assert "boosting" in text
    assert "smallest honest gain" in (tmp_path / "feedback.svg").read_text(encoding="utf-8")


@pytest.mark.few(5)
@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("--attack", "boostin"), 1, "Did you mean 'boosting'"),
        (("--mechanism", "laddr"), 1, "Did you mean"),
        (("--metric", "acuracy"), 1, "Did you mean 'accuracy'"),
        (("--scope", "world"), 2, "--scope must be team, rank or competition"),
        (("--budget", -1), 2, "--budget"),
        (("--rows", 1), 2, "at least 2 public rows"),
        (("--rows", 50, "--total-rows", 40), 2, "as many rows in all"),
        (("--classes", 1), 2, "at least 2 classes"),
        (("--attack", "log-loss-oracle"), 2, "log_loss"),
        (("--metric", "log_loss", "--mechanism", "ladder"), 1, "clip"),
        (("--chart", "curves.docx"), 2, ".svg"),
        (("--chart", "nowhere/curves.svg"), 1, "existing folder"),
        (("--attack", ","), 2, "at least one attack"),
        (("-C", ".", "--rows", 5), 2, "--rows comes from the competition"),
    ],
)
def test_what_is_refused(
    arguments: tuple[object, ...], code: int, says: str, tmp_path: Path
) -> None:
    called = run_here("attack", *arguments, cwd=tmp_path)
    assert (called.returncode, called.stdout) == (code, "")
    assert says in called.stderr.replace("\n", " ")


@pytest.mark.slow
def test_an_attack_that_does_not_suit_the_metric_is_left_out_with_a_note(tmp_path: Path) -> None:
    printed = attack(tmp_path, *SMALL, "--attack", "auc-oracle, random-search")
    assert {curve["attack"] for curve in printed["curves"]} == {"random-search"}
    (note,) = [note_text for note_text in printed["notes"] if "auc-oracle" in note_text]
    assert note.startswith("auc-oracle is left out: ")
    called = run_here("attack", "--attack", "auc-oracle, log-loss-oracle", cwd=tmp_path)
    assert (called.returncode, called.stdout) == (2, "")
    assert "None of the attacks suits accuracy" in called.stderr.replace("\n", " ")


@pytest.mark.slow
def test_a_metric_without_bounds_is_attacked_without_a_ladder(tmp_path: Path) -> None:
    printed = attack(
        tmp_path, "--rows", 200, "--submissions", 5, "--repeats", 2, "--metric", "rmse"
    )
    assert {curve["mechanism"] for curve in printed["curves"]} == {"kaggle"}
    assert printed["notes"][0].startswith("ladder-free is left out: rmse has no bounded range")
    options: Any = {"metric": "rmse", "rows": 60, "submissions": 2, "repeats": 2}
    named = arena.attack("random-search", "full", **options).to_dict()
    assert {curve["mechanism"] for curve in named["curves"]} == {"full"}
    assert not [note for note in named["notes"] if "no bounded range" in note]


@pytest.fixture
def competition(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    usage = np.where(np.arange(300) % 3 == 0, "Public", "Private")
    rows = [(f"r{i}", rng.choice(["hay", "straw"]), usage[i]) for i in range(300)]
    write_csv(tmp_path / "solution.csv", ["id", "y", "Usage"], rows)
    creation = run_here(
        "init",
        "c",
        "--solution",
        "solution.csv",
        *UNPROTECTED,
        "--metric",
        "accuracy",
        "--seed",
        1,
        cwd=tmp_path,
    )
    assert creation.returncode == 0, creation.stderr
    return tmp_path


@pytest.mark.slow
def test_a_competition_is_attacked_with_its_own_labels_and_mechanism(competition: Path) -> None:
    change(competition / "c", 'mechanism = "full"', 'mechanism = "ladder-free"')
    before = document(run_here("audit", "-C", "c", "--json", cwd=competition), "audit")
    printed = attack(competition, "-C", "c", "--submissions", 40, "--attack", "pair-probe")
    assert (printed["rows"], printed["total_rows"], printed["random_labels"]) == (100, 300, False)
    assert {curve["mechanism"] for curve in printed["curves"]} == {"ladder-free"}
    assert printed["curves"][-1]["labels_mistaken"] == 0
    after = document(run_here("audit", "-C", "c", "--json", cwd=competition), "audit")
    assert after == before


@pytest.mark.slow
def test_an_attack_on_a_competition_is_kept(competition: Path) -> None:
    small = ("-C", "c", "--submissions", 10, "--repeats", 2, "--resume", "kept")
    first = attack(competition, *small)
    again = run_here("attack", *small, "--json", cwd=competition)
    assert document(again, "attack") == first
    assert "repetitions are already done" in again.stderr
    assert "straw" not in again.stderr


@pytest.mark.slow
def test_no_label_is_printed(competition: Path) -> None:
    called = run_here("attack", "-C", "c", "--submissions", 20, cwd=competition)
    assert called.returncode == 0, called.stderr
    assert "straw" not in called.stdout + called.stderr


@pytest.mark.parametrize(
    ("mechanism", "gain"),
    [("full", 1 / 200), ("kaggle", 1 / 200), ("ladder-free(minimum_step=0.1)", 0.105)],
)
def test_the_smallest_honest_gain(mechanism: str, gain: float) -> None:
    rows = synthetic_rows(metric_named("accuracy"), 200, 200, 2, np.random.default_rng(0))
    smallest_gain = smallest_gain_shown(mechanism_named(mechanism), rows, BoardSettings(50), seed=0)
    assert smallest_gain == pytest.approx(gain)


def test_a_step_too_large_shows_no_gain_at_all() -> None:
    rows = synthetic_rows(metric_named("accuracy"), 200, 200, 2, np.random.default_rng(0))
    ladder = mechanism_named("ladder(eta=0.5)")
    assert smallest_gain_shown(ladder, rows, BoardSettings(50), seed=0) is None


@pytest.mark.parametrize("usage", ["ppss", "pps", "pss"])
def test_two_public_and_two_private_rows_are_attacked(usage: str) -> None:
    codes = np.array([{"p": Usage.PUBLIC, "s": Usage.PRIVATE}[letter] for letter in usage])
    solution: Any = SimpleNamespace(
        targets=(SimpleNamespace(classes=None),),
        usage=codes,
        n_rows=len(codes),
        truth=np.arange(1.0, len(codes) + 1),
    )
    if len(usage) < 4:
        with pytest.raises(InputError, match="at least two public rows, and two private rows"):
            competition_rows(solution, MeanAbsoluteError())
        return
    rows = competition_rows(solution, MeanAbsoluteError())
    assert (rows.public.tolist(), rows.hidden.tolist()) == ([0, 1], [2, 3])
    assert (rows.public_truth.tolist(), rows.hidden_truth.tolist()) == ([1, 2], [3, 4])
    assert rows.baseline is not None
    assert rows.baseline.tolist() == [1.5] * 4  # the mean of the public rows


def trial(n_rows: int) -> Any:
    codes = np.zeros(n_rows, dtype=np.intp)
    rows = synthetic_rows(Accuracy(), n_rows, n_rows, 2, np.random.default_rng(0))
    return smallest_gain.GainTrial(
        mechanism_named("full"), replace(rows, public_truth=codes), BoardSettings(4), seed=0
    )


def test_the_models_of_a_gain_are_wrong_on_a_fifth_to_three_tenths_and_differ_on_a_50th() -> None:
    of_100 = trial(100)
    assert of_100.most == 18
    for number, n_wrong in ((0, 20), (10, 25), (19, 30)):
        first, second = of_100._models(5, number)
        assert (first.sum(), second.sum(), (second > first).sum()) == (n_wrong, n_wrong - 5, 2)
    assert of_100.gain(5) == 0.05
    assert [trial(n).most for n in (2, 10, 49, 50)] == [1, 2, 9, 9]


@pytest.mark.parametrize(("n_shown", "is_shown"), [(17, False), (18, True)])
def test_a_gain_is_shown_in_18_of_20_trials(
    monkeypatch: pytest.MonkeyPatch, n_shown: int, is_shown: bool
) -> None:
    def board(mechanism: Any, rows: Any, settings: Any, seed: int) -> Any:
        scores = iter([0.5, 0.5 + 0.1 * (seed < n_shown)])
        return SimpleNamespace(send=lambda _: SimpleNamespace(score=next(scores)))

    monkeypatch.setattr(smallest_gain, "PublicBoardRun", board)
    assert trial(10).shown(1) == is_shown


@pytest.mark.few(1)
@pytest.mark.parametrize("metric", ["mae", "log_loss(clip=0.01)", "roc_auc", "f1"])
def test_the_smallest_honest_gain_of_other_metrics(metric: str) -> None:
    rows = synthetic_rows(metric_named(metric), 100, 100, 2, np.random.default_rng(0))
    gain = smallest_gain_shown(mechanism_named("kaggle"), rows, BoardSettings(50), seed=0)
    assert gain is not None
    assert 0 < gain < 0.2


def test_a_narrow_terminal_leaves_out_columns_one_by_one() -> None:
    for titles, importance in (
        (attack_command.CURVE_COLUMNS, attack_command.CURVE_IMPORTANCE),
        (attack_command.VERDICT_COLUMNS, attack_command.VERDICT_IMPORTANCE),
    ):
        assert sorted(importance) == list(range(1, len(titles) + 1))


def test_a_negative_seed_is_refused():
    with pytest.raises(UsageError, match="seed"):
        arena.attack(seed=-1)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"submissions": 0}, "At least 1 submission"),
        ({"repeats": 0}, "1 repetition"),
        ({"repeats": 2.5}, "whole numbers"),
    ],
)
def test_an_attack_without_submissions_or_repetitions_is_refused(changes, said):
    with pytest.raises(UsageError, match=said):
        arena.attack(rows=20, **changes)
