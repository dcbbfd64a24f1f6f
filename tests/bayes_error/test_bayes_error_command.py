"""``arena bayes-error``: every kind, every format, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import arena
from arena.errors import ArenaError, PluginError, UsageError
from arena.hookspecs import hookimpl
from arena.interfaces import FloorEstimate
from arena.plugin.manager import PluginManager
from arena_bayes_error.annotators import from_counts
from arena_bayes_error.charts import specification
from arena_bayes_error.estimators import from_soft_labels
from arena_bayes_error.output import document_of, sentences_of
from competition_folder import document
from program import run_here, run_program, write_csv
from schemas import check_document

DATA = Path(__file__).parents[3] / "shared" / "data" / "soft-labels"


def ask(folder, *arguments, code=0):
    called = run_here("bayes-error", *arguments, "--json", cwd=folder)
    return document(called, "bayes-error", code)


def refused(folder, *arguments):
    called = run_here("bayes-error", *arguments, "--json", cwd=folder)
    assert called.returncode in {1, 2}, called.stdout
    assert not called.stdout
    return called.stderr


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    c = rng.random(60).round(3)
    label = np.where(rng.random(60) < c, "yes", "no")
    sign = np.where(c > 0.5, "yes", "no")
    rows = list(zip(range(60), c, label, sign, np.where(c > 0.5, 1, -1), strict=True))
    write_csv(tmp_path / "all.csv", ["id", "c", "label", "sign", "s"], rows)
    return tmp_path


@pytest.mark.slow
def test_formats_agree(folder):
    c = pd.read_csv(folder / "all.csv")["c"]
    expected = from_soft_labels(c).estimate
    pd.DataFrame({"c": c}).to_parquet(folder / "c.parquet")
    np.save(folder / "c.npy", c.to_numpy())
    np.save(folder / "both.npy", np.column_stack([1 - c, c]))
    (folder / "bare.csv").write_text("\n".join(map(str, c)))
    (folder / "semicolons.csv").write_text(
        "x;c\n" + "\n".join(f"1;{str(share).replace('.', ',')}" for share in c)
    )
    for file in ("all.csv", "c.parquet", "c.npy", "both.npy", "bare.csv", "semicolons.csv"):
        column = ("--column", "c") if file in {"all.csv", "semicolons.csv"} else ()
        printed = ask(folder, file, "--kind", "soft", *column)
        assert printed["estimate"] == pytest.approx(expected)
        assert printed["n"] == 60


@pytest.mark.slow
def test_kinds(folder):
    frame = pd.read_csv(folder / "all.csv")
    wrong = (frame["label"] != frame["sign"]).mean()
    for sign in ("sign", "s"):
        options = ("--label", "label", "--sign", sign)
        printed = ask(folder, "all.csv", "--kind", "hard", *options)
        assert printed["estimate"] == pytest.approx(wrong)
        assert printed["wilson_interval"] is not None
        assert printed["positive"] == "yes"
    printed = ask(folder, "all.csv", "--kind", "noisy", "--column", "c", "--sign", "sign")
    assert printed["estimate"] == pytest.approx(from_soft_labels(frame["c"]).estimate)
    swapped = ask(
        folder, "all.csv", "--kind", "noisy", "--column", "c", "--sign", "sign", "--positive", "no"
    )
    assert swapped["estimate"] == pytest.approx(1 - printed["estimate"])
    assert "The signs contradict the labels" in swapped["assumptions"][-1]
    assert not any("contradict" in assumption for assumption in printed["assumptions"])
    scores = ("--kind", "scores", "--column", "c", "--label", "label", "--resamples", 50)
    printed = ask(folder, "all.csv", *scores)
    assert printed["scaling"]["slope"] > 0
    assert printed["bias_bound"] is None
    assert ask(folder, "all.csv", *scores, "--positive", "no")["scaling"]["slope"] < 0
    confidence = ("--kind", "positive-confidence", "--column", "c", "--prior", 0.4)
    assert 0 < ask(folder, "all.csv", *confidence)["estimate"] < 0.4
    u = np.minimum(frame["c"], 1 - frame["c"])
    write_csv(folder / "u.csv", ["u"], [(value,) for value in u])
    assert ask(folder, "u.csv", "--kind", "uncertainty")["estimate"] == pytest.approx(u.mean())


@pytest.mark.slow
def test_counts_and_several_hard_labels(folder):
    counts = np.random.default_rng(1).integers(0, 5, (30, 3)) + 1
    np.savetxt(folder / "bare.csv", counts, fmt="%d", delimiter=",")
    write_csv(folder / "named.csv", ["id", "cat", "cow", "dog"], np.insert(counts, 0, 0, axis=1))
    expected = from_counts(counts, [1, 2]).estimate
    for file, positive in (("bare.csv", "1,2"), ("named.csv", "cow,dog"), ("named.csv", "1,2")):
        printed = ask(folder, file, "--kind", "counts", "--positive", positive)
        assert printed["estimate"] == pytest.approx(expected)
        assert printed["bias_bound"][0] < 0
    every = ask(folder, "bare.csv", "--kind", "counts")
    assert every["estimate"] == pytest.approx(from_counts(counts).estimate)
    write_csv(folder / "labels.csv", ["ann", "bob", "cy"], [(1, 0, ""), (1, 1, 0), (0, 0, 0)])
    printed = ask(folder, "labels.csv", "--kind", "hard")
    assert printed["estimate"] == pytest.approx((1 / 2 + 1 / 3) / 3)


def test_groups_and_other_metrics(folder):
    frame = pd.read_csv(folder / "all.csv")
    frame["patient"] = [f"p{number // 3}" for number in range(60)]
    frame.to_csv(folder / "grouped.csv", index=False)
    soft = ("grouped.csv", "--kind", "soft", "--column", "c")
    plain = ask(folder, *soft)
    printed = ask(folder, *soft, "--cluster", "patient", "--metric", "log_loss,brier,roc_auc")
    assert (plain["n_clusters"], printed["n_clusters"]) == (None, 20)
    assert plain["estimate"] == pytest.approx(printed["estimate"])
    assert plain["interval"] != printed["interval"]
    floors = {metric_floor["metric"]: metric_floor for metric_floor in printed["metric_floors"]}
    c = frame["c"]
    assert floors["brier"]["value"] == pytest.approx((c * (1 - c)).mean())
    assert floors["roc_auc"]["standard_error"] is None
    assert list(floors) == ["log_loss", "brier", "roc_auc"]
    process = run_here(
        "bayes-error", *soft, "--cluster", "patient", "--metric", "brier", cwd=folder
    )
    assert "estimated from 60 rows in 20 groups" in process.stdout
    assert "best possible brier" in process.stdout


@pytest.mark.slow
def test_brier_of_counts_is_corrected_for_few_labels(folder):
    counts = np.random.default_rng(2).multinomial(4, [0.5, 0.3, 0.2], 500)
    np.savetxt(folder / "counts.csv", counts, fmt="%d", delimiter=",")
    options = ("counts.csv", "--kind", "counts")
    printed = ask(folder, *options, "--metric", "brier")
    (brier,) = printed["metric_floors"]
    assert brier["value"] == pytest.approx(1 - 0.25 - 0.09 - 0.04, abs=0.02)
    assert "only brier has a known correction" in refused(
        folder, *options, "--metric", "brier,log_loss"
    )


@pytest.mark.slow
def test_features_give_bounds_and_no_estimate(folder):
    rng = np.random.default_rng(0)
    kind = rng.choice(["ill", "well", "unsure"], 400)
    shift = {"ill": 0, "well": 1.5, "unsure": 3}
    rows = [
        (position, shift[group] + rng.normal(), 1000 * rng.normal(), group)
        for position, group in enumerate(kind)
    ]
    write_csv(folder / "x.csv", ["id", "a", "b", "y"], rows)
    arguments = ("bayes-error", "x.csv", "--kind", "features", "--label", "y")
    printed = document(
        run_here(*arguments, "--json", "--chart", "b.json", cwd=folder), "bayes-error-bounds"
    )
    assert 0 < printed["lower_end"] < printed["lower"] < printed["upper"] < printed["upper_end"]
    assert (printed["n"], printed["n_classes"], printed["copies"]) == (400, 3, 0)
    assert "estimate" not in printed
    assert "between the bounds" in (folder / "b.json").read_text()
    other = ask_bounds(folder, *arguments, "--column", "b")
    assert other["upper"] > printed["upper"] + 0.1
    process = run_here(*arguments, cwd=folder)
    assert process.stdout.startswith("Bounds, not an estimate")
    doubled = (folder / "x.csv").read_text()
    (folder / "x.csv").write_text(doubled + doubled.partition("\n")[2])
    assert (
        "800 rows have the same features as another row" in run_here(*arguments, cwd=folder).stdout
    )
    np.save(folder / "x.npy", np.column_stack([rng.normal(size=50), np.arange(50) % 2]))
    arguments = ("bayes-error", "x.npy", "--kind", "features", "--label", "1", "--neighbours", 5)
    assert ask_bounds(folder, *arguments)["neighbours"] == 5


def ask_bounds(folder, *arguments):
    return document(run_here(*arguments, "--json", cwd=folder), "bayes-error-bounds")


@pytest.mark.few(7)
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--kind", "soft"), "name them with --column"),
        (("--kind", "soft", "--column", "x"), "no column 'x'"),
        (("--kind", "noisy", "--column", "c"), "--sign.*--kind soft"),
        (("--kind", "noisy", "--column", "c", "--sign", "c"), "two values.*--kind soft.*counts"),
        (("--kind", "scores", "--column", "c", "--label", "id"), "--kind features gives bounds"),
        (("--kind", "hard", "--label", "label"), "Add sign labels"),
        (("--kind", "positive-confidence", "--column", "c"), "--prior.*--kind soft"),
        (("--kind", "scores", "--column", "c"), "--label.*--kind soft"),
        (("--kind", "scores", "--column", "c", "--label", "label", "--positive", "?"), "'no', 'ye"),
        (("--kind", "counts", "--column", "c,s"), "Rows 3, .*from 0"),
        (
            ("--kind", "counts", "--column", "id,c", "--positive", "9"),
            "--positive takes column names",
        ),
        (("--kind", "soft", "--column", "s"), "Rows 3, 4.*not between 0 and 1"),
        (("--kind", "soft", "--column", "c", "--chart", "c.gif"), "--chart c.gif"),
        (("--kind", "soft", "--column", "label"), "row 2, column 'label'"),
        (("--kind", "soft", "--column", "c", "--positive", "yes"), "selects among the columns"),
        (
            ("--kind", "soft", "--column", "c", "--sign", "s"),
            "--sign; --kind counts, hard, noisy",
        ),
        (("--kind", "soft", "--column", "c", "--prior", "0.5"), "--kind positive-confidence does"),
        (("--kind", "soft", "--column", "c", "--metric", "f1"), "not f1"),
        (
            ("--kind", "noisy", "--column", "c", "--sign", "s", "--metric", "brier"),
            "--kind counts, soft",
        ),
        (("--kind", "soft", "--column", "c", "--cluster", "x"), "no column 'x'"),
        (("--kind", "features", "--column", "c"), "--label.*--kind soft"),
        (("--kind", "features", "--column", "c", "--label", "sign", "--neighbours", "2"), "odd"),
        (("--kind", "features", "--column", "c", "--label", "sign", "--cluster", "s"), "cluster"),
        (("--kind", "features", "--column", "sign", "--label", "s"), "must be numbers, but 'sign'"),
        (("--kind", "features", "--label", "s"), "Features must be numbers, but 'label'"),
        (("--kind", "features", "--column", "s", "--label", "c"), "quantity.*bin the quantity"),
        (("--kind", "features", "--column", "c", "--label", "s", "--neighbours", "0"), "from 1"),
        (
            ("--kind", "hard", "--column", "label,s"),
            "have 4: .*use --kind counts, with one column",
        ),
    ],
)
def test_what_is_refused(folder, arguments, said):
    import re

    message = refused(folder, "all.csv", *arguments)
    assert re.search(said, message, re.DOTALL), message
    assert "Traceback" not in message


def test_rows_are_counted_as_in_an_editor(folder):
    (folder / "named.csv").write_text("c\n0.5\n\n1.5\n")
    assert "Row 4" in refused(folder, "named.csv", "--kind", "soft")
    (folder / "bare.csv").write_text("0.5\n0.1\n1.5\n")
    assert "Row 3" in refused(folder, "bare.csv", "--kind", "soft")
    (folder / "sums.csv").write_text("a,b\n0.5,0.5\n0.5,0.4\n")
    assert "Row 3: the probabilities do not sum" in refused(folder, "sums.csv", "--kind", "soft")
    (folder / "gap.csv").write_text("c,s\n0.5,a\n0.5,\n0.4,b\n")
    options = ("--kind", "noisy", "--column", "c", "--sign", "s")
    assert "row 3" in refused(folder, "gap.csv", *options)


@pytest.mark.few(2)
@pytest.mark.parametrize("content", [b"", b"\x93NUMPYgarbage", b"PAR1", b"\xff\x00", b"a,a\n1,2\n"])
def test_damaged_files(folder, content):
    (folder / "bad").write_bytes(content)
    assert "Traceback" not in refused(folder, "bad", "--kind", "soft")
    assert "Traceback" not in refused(folder, "missing.csv", "--kind", "soft")


def test_objects_in_npy_are_never_unpickled(folder):
    np.save(folder / "bad.npy", np.array([{}], dtype=object), allow_pickle=True)
    assert "cannot be read" in refused(folder, "bad.npy", "--kind", "soft")


@pytest.mark.slow
def test_several_hard_labels_may_be_two_texts(folder):
    rows = [("dog", "cat", ""), ("dog", "dog", "cat"), ("cat", "cat", "cat")]
    write_csv(folder / "labels.csv", ["ann", "bob", "cy"], rows)
    printed = ask(folder, "labels.csv", "--kind", "hard", "--positive", "cat")
    assert printed["estimate"] == pytest.approx((1 / 2 + 1 / 3) / 3)
    assert printed["positive"] == "cat"
    assert ask(folder, "labels.csv", "--kind", "hard")["positive"] == "dog"
    assert "'cat', 'dog'" in refused(folder, "labels.csv", "--kind", "hard", "--positive", "cow")


def test_signs_that_contradict_the_labels_are_said_first(folder):
    arguments = ("all.csv", "--kind", "noisy", "--column", "c", "--sign", "sign")
    output = run_here("bayes-error", *arguments, "--positive", "no", cwd=folder).stdout
    assert output.startswith("The signs contradict the labels")
    assert output.count("contradict") == 1
    assert "contradict" not in run_here("bayes-error", *arguments, cwd=folder).stdout


def test_what_holds_for_any_distribution_comes_before_what_assumes_one(folder):
    counts = np.random.default_rng(2).multinomial(4, [0.6, 0.4], 500)
    np.savetxt(folder / "counts.csv", counts, fmt="%d", delimiter=",")
    printed = ask(folder, "counts.csv", "--kind", "counts")
    output = run_here("bayes-error", "counts.csv", "--kind", "counts", cwd=folder).stdout
    free, first, raw, bias = output.splitlines()[:4]
    least, most = printed["moment_interval"]
    assert f"lies between {least:.3%} and {most:.3%} (95% confidence, for any" in free
    assert first.startswith("If the probabilities of the rows follow a Dirichlet distribution")
    assert f"is about {printed['corrected']:.3%}, estimated" in first
    assert f"Uncorrected: {printed['estimate']:.3%}" in raw
    assert f"at most {-100 * printed['bias_bound'][0]:.3f} percentage points" in bias


@pytest.mark.slow
def test_words_and_a_picture(folder):
    arguments = ("--kind", "scores", "--column", "c", "--label", "label", "--resamples", 50)
    called = run_here("bayes-error", "all.csv", *arguments, "--chart", "c.json", cwd=folder)
    assert called.returncode == 0, called.stderr
    assert "The lowest error rate that any classifier can reach" in called.stdout
    assert "layer" in (folder / "c.json").read_text()


@pytest.mark.slow
def test_same_seed_same_bytes(folder):
    arguments = ("bayes-error", "all.csv", "--kind", "soft", "--column", "c", "--json")
    first = run_program(*arguments, cwd=folder)
    assert first.stdout == run_here(*arguments, cwd=folder).stdout
    other = run_here(*arguments, "--seed", 1, cwd=folder)
    assert other.stdout != first.stdout


@pytest.mark.slow
@pytest.mark.skipif(not DATA.exists(), reason="the real annotations are not here")
def test_real_annotations(folder):
    file = DATA / "cifar10h_counts.npy"
    printed = ask(folder, file, "--kind", "counts", "--positive", "2,3,4,5,6,7")
    assert round(100 * printed["estimate"], 3) == 0.502
    file = DATA / "iclr_2017.csv"
    options = ("--column", "weightedAverage", "--label", "decision")
    assert round(100 * ask(folder, file, "--kind", "scores", *options)["estimate"], 2) == 8.61


class ShareOfDoubt:
    """A stranger's estimator: the share of rows that an annotator marked as doubtful, halved."""

    name = "doubt"
    description = "Whether an annotator doubted the label."
    options = frozenset({"label"})

    def parse(self, labels):
        if labels.label is None:
            raise UsageError("doubt needs --label.")
        return labels.codes(labels.label, "mark")

    def estimate(self, parsed, settings):
        share = parsed.mean() / 2
        assumptions = ("Half of the doubtful labels are wrong.",)
        return FloorEstimate(share, (0.0, 0.5), settings["level"], len(parsed), assumptions)


class Stranger:
    @hookimpl
    def provide_floor_estimators(self):
        return [ShareOfDoubt()]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"estimate": float("nan")}, "The estimate must be from 0 to 1, not nan"),
        ({"estimate": 7.0}, "not 7.0"),
        ({"interval": (0.5, 0.1)}, "must ascend from 0 to 1, not 0.5 to 0.1"),
        ({"interval": (0.1, float("nan"))}, "must ascend"),
        ({"level": 95.0}, "The level must be between 0 and 1"),
        ({"n": 0}, "n at least 1"),
        (None, "it returned NoneType and no FloorEstimate"),
    ],
)
def test_what_is_no_estimate_is_attributed_to_its_plugin(changes, said):
    class Wrong(ShareOfDoubt):
        def estimate(self, parsed, settings):
            fields = {"estimate": 0.1, "interval": (0.0, 0.5), "level": 0.95, "n": 4}
            return None if changes is None else FloorEstimate(**fields | changes, assumptions=())

    class Its:
        @hookimpl
        def provide_floor_estimators(self):
            return [Wrong()]

    manager = PluginManager()
    manager.register(Its(), "stranger")
    marks = {"mark": ["sure", "sure", "doubtful", "sure"]}
    with pytest.raises(PluginError, match=f"'stranger' failed .*{said}"):
        arena.bayes_error(marks, "doubt", label="mark", manager=manager)


def test_a_strangers_estimator_is_a_kind_like_ours():
    manager = PluginManager()
    manager.register(Stranger(), "stranger")
    marks = {"mark": ["sure", "sure", "doubtful", "sure"]}
    answer = arena.bayes_error(marks, "doubt", label="mark", level=0.9, manager=manager)
    assert (answer.kind, answer.found.estimate, answer.found.level) == ("doubt", 0.125, 0.9)
    printed = document_of(answer, 0)
    check_document(printed, "bayes-error")
    assert (printed["kind"], printed["bound"]) == ("doubt", None)
    text = " ".join(sentences_of(answer))
    assert "is 12.500%, estimated from 4 rows (90% interval: 0.000% to 50.000%)" in text
    assert "Half of the doubtful labels are wrong." in text
    assert specification(answer.found)["layer"]
    for kind, options, problem in (
        ("doubt", {}, "doubt needs label="),
        ("doubt", {"label": "mark", "prior": 0.5}, "does not use prior="),
        ("doupt", {}, "no kind of labels 'doupt'. Did you mean 'doubt'"),
    ):
        with pytest.raises(ArenaError, match=problem):
            arena.bayes_error(marks, kind, manager=manager, **options)


def test_the_help_offers_no_completion_of_its_own(tmp_path):
    called = run_here("bayes-error", "--help", cwd=tmp_path)
    assert called.stdout.startswith("Usage: arena bayes-error")
    assert "completion" not in called.stdout
