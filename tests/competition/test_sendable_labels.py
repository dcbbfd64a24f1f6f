"""Labels that participants may send: those declared, else those of the public rows and the sample.

Whatever the private rows have, the answer to a file is the same: a check of a file costs nothing,
so that a difference would tell labels that only private rows have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.competition.competition import Competition
from arena.config import SAMPLE_NAME
from arena.errors import InputError
from arena.intake import read_solution
from arena.types import Fault, PredictionKind, SolutionColumns, Usage
from program import write_csv
from scenario import Scenario

PUBLIC = ("cat", "dog", "cat", "dog", "cat")
PRIVATE = ("cat", "yak", "dog", "gnu", "cat")


def created(folder: Path, private: Sequence[str], **keys: object) -> Competition:
    n_public, n_private = len(PUBLIC), len(private)
    solution = {
        "id": [*(f"r{row}" for row in range(n_public)), *(f"p{row}" for row in range(n_private))],
        "y": [*PUBLIC, *private],
        "Usage": ["Public"] * n_public + ["Private"] * n_private,
    }
    return Scenario(folder, solution).create(**keys)


def answer(competition: Competition, folder: Path, labels: Sequence[str], header: str = "id,y"):  # type: ignore[no-untyped-def]
    file = folder / "sent.csv"
    ids = competition.solution.ids.to_pylist()
    lines = [f"{id},{label}" for id, label in zip(ids, labels, strict=True)]
    file.write_text("\n".join([header, *lines, ""]))
    return competition.check_file(file, "sent.csv")


@pytest.mark.slow
def test_a_label_that_only_private_rows_have_is_as_unknown_as_any_other(tmp_path: Path) -> None:
    with created(tmp_path, PRIVATE) as competition:
        messages = {}
        for label in ("yak", "zebra", "gnu", "YAK", " yak"):
            (fault, *_rest) = answer(competition, tmp_path, [label, *["dog"] * 9])
            messages[label] = fault.message.replace(label, "X")
            assert fault.kind == "unknown label"
        assert len(set(messages.values())) == 1
        assert answer(competition, tmp_path, ["cat", *["dog"] * 9]) == ()


PRIVATE_LABELS = st.lists(
    st.sampled_from(["cat", "dog", "yak", "gnu", "0", "1", "Cat", "sent", "y2"]),
    min_size=5,
    max_size=5,
)
SENT = st.lists(
    st.sampled_from(["cat", "dog", "yak", "gnu", "zebra", "0", "1", "", "CAT", "0.5", "1.0", "y2"]),
    min_size=10,
    max_size=10,
)
HEADERS = st.sampled_from(["id,y", "id,yak", "yak,y", "id,cat", "id,sent", "id,y2", "gnu,dog"])


@pytest.fixture(scope="module")
def competitions(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Mapping[str, Competition]]:
    """The same competition with other private labels."""
    competition_of_folder = {}
    for number, private in enumerate(
        [
            PRIVATE,
            ("dog", "cat", "yak", "gnu", "cat"),
            ("cat",) * 5,
            ("zebra", "0", "1", "y2", "sent"),
        ]
    ):
        folder = tmp_path_factory.mktemp("labels") / str(number)
        competition_of_folder[str(folder)] = created(folder, private)
    yield competition_of_folder
    for competition in competition_of_folder.values():
        competition.close()


@settings(max_examples=60, deadline=None)
@given(labels=SENT, header=HEADERS)
def test_the_answer_to_a_file_does_not_depend_on_private_labels(
    competitions: Mapping[str, Competition],
    tmp_path_factory: pytest.TempPathFactory,
    labels: list[str],
    header: str,
) -> None:
    folder = tmp_path_factory.getbasetemp()
    answers: set[tuple[Fault, ...]] = set()
    for competition in competitions.values():
        answers.add(answer(competition, folder, labels, header))
    assert len(answers) == 1


def test_the_sample_and_its_note_do_not_depend_on_private_labels(
    competitions: Mapping[str, Competition],
) -> None:
    samples = {Path(folder, "c", SAMPLE_NAME).read_bytes() for folder in competitions}
    assert len(samples) == 1


def test_labels_of_the_sample_may_be_sent(tmp_path: Path) -> None:
    created(tmp_path, PRIVATE).close()
    sample = tmp_path / "c" / SAMPLE_NAME
    sample.write_text(sample.read_text().replace("cat", "yak", 1))
    with Competition.open(tmp_path / "c") as competition:
        assert answer(competition, tmp_path, ["yak", *["dog"] * 9]) == ()
        assert answer(competition, tmp_path, ["gnu", *["dog"] * 9])[0].kind == "unknown label"


def test_declared_labels_may_be_sent_in_any_competition(tmp_path: Path) -> None:
    classes = ("cat", "dog", "yak", "gnu", "emu")
    with created(tmp_path, PRIVATE, classes=classes) as competition:
        assert competition.solution.targets[0].classes == classes
        assert answer(competition, tmp_path, ["emu", "yak", *["dog"] * 8]) == ()
        assert answer(competition, tmp_path, ["zebra", *["dog"] * 9])[0].kind == "unknown label"
        # A declared class that no row has counts as wrong.
        answered = competition.submit({"id": competition.solution.ids.to_pylist(),
                                       "y": ["emu"] * 10}, "one")  # fmt: skip
        assert (answered.status, answered.released) == ("accepted", 0.0)


@pytest.mark.slow
def test_without_a_public_row_every_label_of_the_solution_may_be_sent(tmp_path: Path) -> None:
    scenario = Scenario(tmp_path, {"id": [f"r{row}" for row in range(5)], "y": PRIVATE})
    with scenario.create(public_share=0) as competition:
        assert answer(competition, tmp_path, ["yak", "gnu", "cat", "cat", "cat"]) == ()


@pytest.mark.parametrize(
    ("labels", "classes", "expected"),
    [
        (["mid", "low"], ("low", "mid", "high"), [1, 0]),
        (["1", "3"], ("0", "1", "2", "3"), [1, 3]),
        (["1.0", "3"], ("3", "2", "1"), [2, 0]),
    ],
)
def test_declared_classes_are_in_their_order(
    tmp_path: Path, labels: list[str], classes: tuple[str, ...], expected: list[int]
) -> None:
    rows = [(f"r{i}", label) for i, label in enumerate(labels)]
    write_csv(tmp_path / "solution.csv", ["id", "y"], rows)
    solution = read_solution(
        tmp_path / "solution.csv",
        kind=PredictionKind.LABEL,
        columns=SolutionColumns(classes=classes),
    )
    assert solution.targets[0].classes == classes
    assert solution.truth.tolist() == expected
    assert set(solution.usage.tolist()) == {Usage.PRIVATE}


@pytest.mark.parametrize(
    ("classes", "said"),
    [(("low", "mid"), "which the classes .* do not include"), (("low", "low"), "not two or more")],
)
def test_classes_that_do_not_fit_are_refused(
    tmp_path: Path, classes: tuple[str, ...], said: str
) -> None:
    write_csv(tmp_path / "solution.csv", ["id", "y"], [("a", "low"), ("b", "high")])
    with pytest.raises(InputError, match=said):
        read_solution(
            tmp_path / "solution.csv",
            kind=PredictionKind.LABEL,
            columns=SolutionColumns(classes=classes),
        )
