"""Solutions as a folder or ZIP of mask files, with a CSV of the cases beside them."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import pytest

from arena.errors import InputError
from arena.intake import read_solution
from arena.intake.mask_files import run_lengths
from arena.types import PredictionKind, Solution, SolutionColumns, Usage
from arena_metrics import modalities
from program import run_here

SIZES = ("height", "width", "depth")
MASKS = {
    case: np.random.default_rng(position).random((4, 6)) < 0.4
    for position, case in enumerate("abc")
}


def write(folder: Path, arrays: dict[str, Any], table: str = "") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for case, pixels in arrays.items():
        np.save(folder / f"{case}.npy", pixels)
    if table:
        (folder / "cases.csv").write_text(table)
    return folder


def read(path: Path, **columns: Any) -> Solution:
    return read_solution(
        path,
        kind=PredictionKind.TEXT,
        columns=SolutionColumns(**columns),
        modality=modalities.MASKS,
    )


def test_a_folder_of_masks_is_a_solution_with_the_columns_of_its_table(tmp_path: Path) -> None:
    table = "id,Usage,patient\nc,Private,q\na,Public,p\nb,Private,p\n"
    solution = read(write(tmp_path / "truth", MASKS, table), cluster="patient")
    assert solution.ids.to_pylist() == ["a", "b", "c"]
    assert solution.truth.tolist() == [run_lengths(mask) for mask in MASKS.values()]
    assert solution.usage.tolist() == [Usage.PUBLIC, Usage.PRIVATE, Usage.PRIVATE]
    assert solution.clusters is not None
    assert solution.clusters.tolist() == [0, 0, 1] or solution.clusters.tolist() == [1, 1, 0]
    assert solution.extra["height"].tolist() == [4.0] * 3
    assert solution.extra["width"].tolist() == [6.0] * 3
    assert solution.columns == ("mask",)


def test_a_zip_is_read_like_its_folder_and_any_change_changes_the_digest(tmp_path: Path) -> None:
    folder = write(tmp_path / "truth", MASKS)
    path = tmp_path / "truth.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(folder.iterdir()):
            archive.write(file, f"inner/{file.name}")
    from_folder, same = read(folder), read(path)
    assert same.truth.tolist() == from_folder.truth.tolist()
    assert (from_folder.usage == Usage.PRIVATE).all()
    before = from_folder.sha256
    write(folder, {"a": ~MASKS["a"]})
    assert read(folder).sha256 != before


def test_several_values_are_labels_and_the_masks_of_a_case_are_a_group(tmp_path: Path) -> None:
    volume = np.zeros((3, 4, 2), dtype=np.uint8)
    volume[0, 0, 0], volume[2, 3, 1] = 1, 4
    empty = np.zeros_like(volume)
    (tmp_path / "truth").mkdir()
    for case, pixels in {"p1": volume, "p2": empty}.items():
        image = nibabel.Nifti1Image(pixels, np.diag([0.7, 0.7, 2.5, 1.0]))
        nibabel.save(image, tmp_path / "truth" / f"{case}.nii.gz")
    solution = read(tmp_path / "truth", tasks="label")
    assert solution.ids.to_pylist() == ["p1:1", "p1:4", "p2:1", "p2:4"]
    assert solution.truth.tolist() == ["1 1", "24 1", "", ""]
    assert solution.clusters is not None
    assert solution.clusters.tolist() == [0, 0, 1, 1]
    assert solution.task_names == ("1", "4")
    assert solution.extra["depth"].tolist() == [2.0] * 4
    assert solution.extra["spacing_height"].tolist() == [0.7] * 4
    assert solution.extra["spacing_depth"].tolist() == [2.5] * 4


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ("id,Usage\na,Public\nb,Private\n", "has no row for this case: add one"),
        ("id,Usage\na,Public\nb,Private\nc,Private\nd,Private\n", "There is no mask file for this"),
        ("id,Usage\na,Public\na,Public\nb,Private\nc,Private\n", "has this case twice"),
        ("id,Usage\na,Public\nb,Secret\nc,Private\n", "is not Public, Private or Ignored"),
        ("id,mask\na,1 1\nb,1 1\nc,1 1\n", "occurs twice: rename one"),
        ("id,height\na,1\nb,1\nc,1\n", "occurs twice: rename one"),
    ],
)
def test_a_table_that_does_not_fit_the_masks_is_refused(
    tmp_path: Path, table: str, why: str
) -> None:
    folder = write(tmp_path / "truth", MASKS, table)
    with pytest.raises(InputError, match=why):
        read(folder)


def test_masks_that_cannot_be_meant_are_refused(tmp_path: Path) -> None:
    ones = {"a": np.eye(4, dtype=np.uint8), "b": 255 * np.eye(4, dtype=np.uint8)}
    with pytest.raises(InputError, match="Some masks have the value 1 and some 255"):
        read(write(tmp_path / "mixed", ones))
    many = {"a": np.arange(2000, dtype=np.uint16).reshape(40, 50)}
    with pytest.raises(InputError, match="has 1,999 values besides 0"):
        read(write(tmp_path / "many", many))
    two = write(tmp_path / "two", MASKS, "id\na\nb\nc\n")
    (two / "more.csv").write_text("id\na\n")
    with pytest.raises(InputError, match="There are several CSV files"):
        read(two)
    (tmp_path / "none").mkdir()
    with pytest.raises(InputError, match="There is no mask file"):
        read(tmp_path / "none")


@pytest.mark.slow
def test_a_folder_is_scored_and_hosted_like_the_table_of_its_masks(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    arrays = {f"case_{number:02}": rng.random((8, 9)) < 0.4 for number in range(24)}
    usage = "".join(
        f"{case},{'Public' if position % 3 else 'Private'}\n"
        for position, case in enumerate(arrays)
    )
    write(tmp_path / "truth", arrays, f"id,Usage\n{usage}")
    for team, share in {"ann": 0.02, "bob": 0.2}.items():
        submitted_masks = {
            case: pixels ^ (rng.random((8, 9)) < share) for case, pixels in arrays.items()
        }
        write(tmp_path / "teams" / team, submitted_masks)
    scored = ("score", "truth", "teams", "--metric", "surface_dice(tolerance=0)", "--json")
    commands: tuple[tuple[str, ...], ...] = (
        scored,
        ("init", "race", "--solution", "truth", "--metric", "dice"),
        ("submit", "-C", "race", "teams/ann", "--team", "ann"),
        ("rescore", "-C", "race", "--solution", "truth"),
    )
    done = [run_here(*command, cwd=tmp_path) for command in commands]
    assert [called.returncode for called in done] == [0, 0, 0, 0], [
        called.stderr for called in done
    ]
    assert [row["team"] for row in json.loads(done[0].stdout)["standings"]] == ["ann", "bob"]
    assert "accepted" in done[2].stdout + done[2].stderr


def test_a_damaged_table_beside_the_masks_is_named(tmp_path: Path) -> None:
    folder = write(tmp_path / "truth", MASKS, "id,Usage\na,Public\nb,Private\nc,Private\n")
    path = tmp_path / "truth.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for path_of_mask in sorted(folder.iterdir()):
            archive.write(path_of_mask, path_of_mask.name)
    path.write_bytes(path.read_bytes().replace(b"a,Public", b"a,Pablic", 1))
    with pytest.raises(InputError, match=r"'cases\.csv' cannot be read \('Bad CRC"):
        read(path)
