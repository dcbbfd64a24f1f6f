"""What is refused is named for what it is, with advice that helps; no advice shows a label."""

from __future__ import annotations

import pickle
import zlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from arena.errors import InputError
from arena.intake import SubmissionForm, parse_submission, read_solution
from arena.interfaces.faults import fault_lines
from arena.types import PredictionKind, SolutionColumns

VALUE, LABEL = PredictionKind.VALUE, PredictionKind.LABEL
PROBABILITIES = PredictionKind.CLASS_PROBABILITIES


def _rows(ids: list[str], cells: list[str], name: str = "y") -> str:
    return f"id,{name}\n" + "".join(f"{id},{cell}\n" for id, cell in zip(ids, cells, strict=True))


IDS = {
    "number": (["1e3", "1e4"], ["1000", "10000"], "written in another way, such as 1e3"),
    "digits of a spreadsheet": (["0.1", "0.2"], ["0.10000000000000001", "0.2"], "another way"),
    "minus zero": (["0", "5"], ["-0", "5"], "another way"),
    "non-breaking": (["x 1", "x 2"], ["x\u00a01", "x\u00a02"], "look like others"),
    "wide": (["a\uff11", "a\uff12"], ["a1", "a2"], "look like others"),
    "encoding": (["é1", "é2"], ["Ã©1", "Ã©2"], "wrong encoding"),
    "braces": (["{a-1}", "{b-2}"], ["a-1", "b-2"], "quotation marks or brackets"),
    "apostrophe": (["001", "002"], ["'001", "'002"], "quotation marks or brackets"),
    "bytes": (["a", "b"], ["b'a'", "b'b'"], "quotation marks or brackets"),
    "ending": (["im1.png", "im2.png"], ["im1", "im2"], "endings or folders"),
    "two endings": (["im1", "im2"], ["im1.nii.gz", "im2.nii.gz"], "endings or folders"),
    "folder": (["im1.png", "im2.png"], ["test/im1.png", "test/im2.png"], "endings or folders"),
    "decimals": (["1", "2"], ["1.0", "2.0"], "decimal numbers"),  # 1 and 2 are predictions, too
    **{
        f"date {first}": (["2024-03-01", "2024-03-02"], [first, second], "the ids are dates")
        for first, second in (
            ("3/1/2024", "3/2/2024"),
            ("01.03.2024", "02.03.2024"),
            ("20240301", "20240302"),
            ("45352", "45353"),
            ("1709251200", "1709337600"),
        )
    },
}


@pytest.mark.few(6)
@pytest.mark.parametrize(("ids", "sent", "advice"), IDS.values(), ids=IDS)
def test_other_ids_are_explained(
    tmp_path: Path, ids: list[str], sent: list[str], advice: str
) -> None:
    _refused(tmp_path, _rows(ids, ["1", "2"]), _rows(sent, ["1", "2"]), VALUE, advice)


CELLS = {
    "percent": (VALUE, ["10%", "20%"], "divide by 100"),
    "groups": (VALUE, ["1 500", "2 500"], "thousands separators"),
    "groups of Switzerland": (VALUE, ["1'500.5", "2'500"], "thousands separators"),
    "unit": (VALUE, ["1.5 kg", "2 kg"], "unit"),
    "money": (VALUE, ["$1.5", "$2"], "unit"),
    "spreadsheet": (VALUE, ["#DIV/0!", "#DIV/0!"], "errors of a spreadsheet"),
    "month": (VALUE, ["1-Jan", "2-Feb"], "into dates"),
    "list": (VALUE, ["[1.5]", "[2]"], "lists or objects"),
    "lost NA": (LABEL, ["", "EU"], "keep_default_na=False"),
    "invisible": (LABEL, ["EU\u200b", "EU\u200b"], "invisible characters"),
    "encoded twice": (LABEL, ["Ã©", "EU"], "wrong encoding"),
    "quoted": (LABEL, ["'EU'", "'EU'"], "quotation marks"),
}


@pytest.mark.parametrize(("kind", "sent", "advice"), CELLS.values(), ids=CELLS)
def test_wrong_cells_are_explained(
    tmp_path: Path, kind: PredictionKind, sent: list[str], advice: str
) -> None:
    truth = ["123.5", "77.5", "55.5"] if kind is VALUE else ["NA", "EU", "é"]
    cells = [*sent, truth[1]]
    _refused(tmp_path, _rows(list("abc"), truth), _rows(list("abc"), cells), kind, advice)


NAMES = {
    "non-breaking": ("y\u00a0", "y", "spaces around it"),
    "invisible": ("\ufeffy", "y", "invisible character"),
    "case": ("Y", "y", "upper and lower case"),
    "formula": ("y", '"=""y"""', "formula"),
    "encoding": ("é", "Ã©", "wrong encoding"),
}


@pytest.mark.parametrize(("name", "sent", "advice"), NAMES.values(), ids=NAMES)
def test_other_names_are_explained(tmp_path: Path, name: str, sent: str, advice: str) -> None:
    solution, submission = (_rows(["a", "b"], ["1", "2"], column) for column in (name, sent))
    _refused(tmp_path, solution, submission, VALUE, advice)


def test_numbers_that_name_classes_are_explained(tmp_path: Path) -> None:
    text = "id,0.0,1.0,2.0\na,1,0,0\nb,0,1,0\nc,0,0,1\n"
    solution = _rows(list("abc"), ["0", "1", "2"])
    _refused(tmp_path, solution, text, PROBABILITIES, "decimal number here or in the solution")


FILES = {
    **{f"pickle {number}": pickle.dumps({"y": [1]}, protocol=number) for number in range(2, 6)},
    "deflated": zlib.compress(b"id,y\na,1\nb,2\n" * 99),
    "Avro": b"Obj\x01\x04\x14avro.codec",
    "ORC": b"ORC\x00\x01\x02",
    "records": b"\x10\0\0\0\0\0\0\0\x0b\x0c\x0e\x01",
    "Stata": b"<stata_dta><header>",
    "7z": b"7z\xbc\xaf\x27\x1c",
    "Git LFS": b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\n",
}


@pytest.mark.parametrize("data", FILES.values(), ids=FILES)
def test_files_that_are_no_tables_are_named(tmp_path: Path, data: bytes) -> None:
    (line,) = _refused(tmp_path, _rows(["a", "b"], ["1", "2"]), data, VALUE, "This is a")
    assert "header" not in line


@pytest.mark.parametrize("labels", [["cat", "cat\u200b"], ["cat", "cat\u00a0"]])
def test_labels_that_look_the_same_are_refused(tmp_path: Path, labels: list[str]) -> None:
    (tmp_path / "s.csv").write_text(_rows(["a", "b"], labels))
    with pytest.raises(InputError, match="or in invisible characters"):
        read_solution(tmp_path / "s.csv", kind=LABEL)


def test_spellings_of_truth_values_are_one_label(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text(_rows(list("abcde"), ["True", "true", "TRUE", "1", "0"]))
    solution = read_solution(tmp_path / "s.csv", kind=LABEL)
    assert solution.truth.tolist() == [1, 1, 1, 1, 0]


def test_durations_are_seconds(tmp_path: Path) -> None:
    durations = pa.array([1500, 2000], pa.duration("ms"))
    pq.write_table(pa.table({"id": ["a", "b"], "y": durations}), tmp_path / "s.parquet")
    solution = read_solution(tmp_path / "s.parquet", kind=VALUE)
    assert solution.truth.tolist() == [1.5, 2.0]


def _refused(
    folder: Path, solution: str, content: str | bytes, kind: PredictionKind, advice: str
) -> list[str]:
    """Return the lines about a file that is refused, after a check of what they say."""
    (folder / "s.csv").write_text(solution)
    (folder / "t.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    form = SubmissionForm.of(read_solution(folder / "s.csv", kind=kind, columns=SolutionColumns()))
    lines = fault_lines(parse_submission(folder / "t.csv", form).faults)
    assert advice.casefold() in "\n".join(lines).casefold(), lines
    secret = {row.split(",")[1] for row in solution.splitlines()[1:]} - {"1", "2", "0", "EU", "é"}
    assert not any(label in line for label in secret - {"NA"} for line in lines)
    return lines
