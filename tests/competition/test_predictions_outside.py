"""Competitions that keep predictions outside the database: everything else stays the same."""

from __future__ import annotations

import dataclasses
import gc
import importlib.util
import pickle
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from arena.competition.competition import Competition
from arena.competition.view import CompetitionView
from arena.config import Settings
from arena.errors import InputError
from arena.evaluation import black_box
from arena.store import object_places
from arena.utils.engines import Cluster, Engine, open_engine, using
from clusters import InProcess, dask_cluster
from program import run_here
from scenario import Scenario

PLACE = "predictions"
KAGGLE = Path(__file__).parents[1] / "support" / "foreign_metrics" / "kaggle_fbeta.py"


def played(folder: Path, place: str | None, **keys: Any) -> Competition:
    """Submissions of four teams; two files are equal, and one is disqualified."""
    folder.mkdir()
    scenario = Scenario(folder)
    competition = scenario.create(predictions=place, **keys)
    for number, team in enumerate(["one", "two", "three", "two", "four"], 1):
        competition.submit(scenario.file(number % 4), team)
    competition.disqualify(3, "a test")
    return competition


def facts_of(competition: Competition) -> list[Any]:
    """Return what the competition says that does not depend on its seeds."""
    result = competition.finalize()
    return [
        result.to_dict(),
        competition.leaderboard(),
        competition.submissions(),
        [dataclasses.asdict(change) for change in competition.rescore()],
    ]


@pytest.mark.slow
def test_every_result_is_that_of_predictions_in_the_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(black_box, "SECONDS_WORTH_A_PROCESS", 0.0)
    facts, sizes = [], []
    for place in (None, PLACE):
        folder = tmp_path / str(place)
        cluster = InProcess()
        with played(folder, place, resamples=10, intervals=True) as competition:
            facts.append(facts_of(competition))
            with using(measured(cluster.engine(), sizes)):
                assert competition.finalize().to_dict() == facts[-1][0]
    assert facts[0] == facts[1]
    assert (cluster.calls > 0, len(sizes)) == (True, 2 * cluster.calls)
    # The 60 rows of some submissions, or which submissions to read.
    assert min(sizes[: cluster.calls]) > 4 * max(sizes[cluster.calls :])


def measured(engine: Engine, sizes: list[int]) -> Engine:
    """Note the bytes of each task beside what is shared."""
    cluster = engine.cluster
    assert cluster is not None

    def submit(function: Any, *arguments: Any) -> Any:
        sizes.append(
            sum(argument.nbytes if hasattr(argument, "nbytes") else 1 for argument in arguments[4:])
        )
        return cluster.submit(function, *arguments)

    own = Cluster(cluster.share, submit, cluster.result, cluster.lost, cluster.gone)
    return Engine(engine.name, engine.workers, own)


@pytest.mark.slow
def test_the_place_is_chosen_before_the_first_submission(
    tmp_path: Path, scenario: Scenario
) -> None:
    toml = scenario.folder / "competition.toml"
    with scenario.create():
        written = toml.read_text()
    assert "# predictions =" in written
    toml.write_text(written.replace("# predictions =", f'predictions = "{PLACE}"'))
    with scenario.reopen() as competition:
        competition.submit(scenario.file(1), "one")
        assert len([*(scenario.folder / PLACE).rglob("*.parquet")]) == 1
        assert competition.events()[1].payload["changes"] == [["store.predictions", None, PLACE]]
    toml.write_text(written)
    with pytest.raises(InputError, match=r"\[store\] predictions cannot be changed like this"):
        scenario.reopen()
    with CompetitionView.open(scenario.folder) as view:
        assert [row["team"] for row in view.leaderboard()] == ["one"]
    shutil.copytree(scenario.folder / PLACE, tmp_path / "other")
    toml.write_text(written.replace("# predictions =", f'predictions = "{tmp_path}/other"'))
    with scenario.reopen() as competition:
        shutil.rmtree(scenario.folder / PLACE)
        assert competition.audit() == ()


@pytest.mark.slow
def test_a_backup_says_what_it_lacks(tmp_path: Path) -> None:
    with played(tmp_path / "x", PLACE):
        pass
    whole = run_here("backup", "-C", "x/c", "whole", cwd=tmp_path)
    assert (whole.returncode, whole.stderr) == (0, "")
    file = next((tmp_path / "x" / "c" / PLACE).rglob("*.parquet"))
    file.unlink()
    lacks = run_here("backup", "-C", "x/c", "lacks", cwd=tmp_path)
    assert lacks.returncode == 0
    assert (
        "Files of predictions that are missing at predictions, and in the copy: 1." in lacks.stderr
    )
    file.symlink_to("nowhere")
    none = run_here("backup", "-C", "x/c", "none", cwd=tmp_path)
    assert none.returncode == 1
    assert f"{file} cannot be copied: " in none.stderr
    assert not [*tmp_path.glob("none*")]


def test_a_secret_in_the_location_is_refused_and_not_repeated() -> None:
    with pytest.raises(ValueError, match="name or password in it is refused") as caught:
        Settings.model_validate(
            {"metric": {"name": "x"}, "store": {"predictions": "s3://me:secret@bucket"}}
        )
    assert "secret" not in str(caught.value.errors()[0]["msg"])  # type: ignore[attr-defined]


@pytest.mark.slow
def test_the_commands_work_on_predictions_outside(tmp_path: Path, scenario: Scenario) -> None:
    def run(*arguments: object, code: int = 0) -> str:
        called = run_here(*map(str, arguments), cwd=tmp_path)
        assert called.returncode == code, called.stderr
        return called.stdout + called.stderr

    scenario.write("solution", scenario.solution)
    errors = run(
        "init", "c", "--solution", "solution.csv", "--metric", "roc_auc",
        "--predictions", "s3://me:secret@bucket", code=2,
    )  # fmt: skip
    assert "--predictions: a URL with a name or password in it is refused" in errors
    assert "secret" not in errors
    assert not scenario.folder.exists()
    outside = tmp_path / "objects"
    run("init", "c", "--solution", "solution.csv", "--metric", "roc_auc", "--predictions", outside)
    for number in range(3):
        file = scenario.file(number)
        run("submit", "-C", "c", file, "--team", f"team {number}")
    assert "everything that is stored agrees" in run("audit", "-C", "c")
    run("finalize", "-C", "c")
    run("export", "-C", "c", "exported")
    run("verify", "exported", scenario.solution_file)
    run("replay", "-C", "c", "--mechanism", "kaggle(rounding=0.01)")
    assert "are not in the copy, which needs them" in run("backup", "-C", "c", "copy")
    run("finalize", "-C", "copy")
    (identity,) = (path for path in outside.iterdir() if path.is_dir())
    (identity / f"{'a' * 64}.parquet").touch()
    assert "Objects with predictions that belong to no submission: 1." in run("audit", "-C", "c")
    assert "Removed 1 unused" in run("repair", "-C", "c", "--remove-unused")
    assert "agrees" in run("audit", "-C", "c")
    for one in identity.iterdir():
        one.write_bytes(one.read_bytes()[:100])
    (tmp_path / "there").mkdir()
    for folder in ("there", "new"):
        errors = run("export", "-C", "c", folder, code=1)
        assert "were changed or truncated" in errors
    assert not [*tmp_path.glob("new*"), *(tmp_path / "there").iterdir()]
    assert run("audit", "-C", "c", code=1).count("changed or truncated: the content of") == 3
    errors = run("rescore", "-C", "c", code=1)
    assert "The predictions of submission 1 were changed or truncated" in errors
    assert "Traceback" not in errors


needs_s3 = pytest.mark.skipif(
    not all(map(importlib.util.find_spec, ("s3fs", "moto", "flask_cors"))),
    reason="s3fs or the server of moto is not installed",
)
needs_dask = pytest.mark.skipif(
    not importlib.util.find_spec("distributed"), reason="dask is not installed"
)


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A bucket on a server of moto, with credentials in the environment."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key-of-a-test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret-of-a-test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    try:
        import s3fs

        files = s3fs.S3FileSystem(skip_instance_cache=True)
        name = f"races-{secrets.token_hex(4)}"  # moto keeps buckets until the process ends
        files.mkdir(name)
        yield f"s3://{name}/first"
    finally:
        object_places.opened_file_system.cache_clear()
        gc.collect()  # closes the connections, where warnings are no errors
        server.stop()


@pytest.mark.slow
@needs_s3
@pytest.mark.filterwarnings("default")
def test_a_bucket_gives_the_same_results(tmp_path: Path, bucket: str) -> None:
    import s3fs

    facts = []
    for place in (None, bucket):
        with played(
            tmp_path / str(bool(place)), place, resamples=10, intervals=True
        ) as competition:
            facts.append(facts_of(competition))
            store = competition._state.store
            assert store.audit() == ()
            assert store.unused_objects() == []
    assert facts[0] == facts[1]
    files = s3fs.S3FileSystem(skip_instance_cache=True, use_listings_cache=False)
    objects = [name for name in files.find(bucket) if name.endswith(".parquet")]
    assert len(objects) == 4
    folder = tmp_path / "True" / "c"
    text = "".join(
        path.read_text("utf-8", "replace") for path in folder.iterdir() if path.is_file()
    )
    assert "secret-of-a-test" not in text
    whole = files.cat_file(objects[0])
    for damaged in (whole[:-4], b"", None):
        if damaged is None:
            files.rm_file(objects[0])
        else:
            files.pipe_file(objects[0], damaged)
        with Competition.open(folder) as competition:
            (problem, *_) = competition.audit()
            assert f"s3://{objects[0]}" in problem
    files.pipe_file(objects[0], whole)
    with Competition.open(folder) as competition:
        assert competition.audit() == ()


@pytest.mark.slow
@needs_s3
@pytest.mark.filterwarnings("default")
def test_a_bucket_that_does_not_exist_is_a_sentence(scenario: Scenario, bucket: str) -> None:
    with pytest.raises(Exception, match="s3://no-such-bucket/x/? cannot be written: ") as caught:
        scenario.create(predictions="s3://no-such-bucket/x")
    assert type(caught.value).__name__ == "StoreError"
    assert not scenario.folder.exists()


@pytest.mark.slow
@needs_dask
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("place", [PLACE, pytest.param("bucket", marks=needs_s3)])
def test_workers_read_their_blocks_and_give_the_same_board(
    tmp_path: Path,
    place: str,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    monkeypatch.setattr(black_box, "SECONDS_WORTH_A_PROCESS", 0.0)
    url = request.getfixturevalue("bucket") if place == "bucket" else place
    sizes: list[int] = []
    for position, metric in enumerate(["roc_auc", f"kaggle:{KAGGLE}(beta=2)"]):
        with played(
            tmp_path / str(position), url, metric=metric, resamples=10, intervals=True
        ) as competition:
            here, changes = competition.finalize().to_dict(), competition.rescore()
            with dask_cluster() as address, open_engine("dask", address) as engine:
                assert engine.workers == 2
                with using(measured(engine, sizes)):
                    assert competition.finalize().to_dict() == here
                    assert competition.rescore() == changes
    assert 0 < len(sizes) <= sum(sizes) <= 3 * len(sizes)


@pytest.mark.slow
@needs_dask
@pytest.mark.filterwarnings("default")
def test_a_worker_that_finds_no_object_says_which(tmp_path: Path) -> None:
    with played(tmp_path / "x", PLACE, resamples=10, intervals=True) as competition:
        competition.finalize()
        with dask_cluster() as address, open_engine("dask", address) as engine:
            predictions = competition._state.store.predictions([1, 2]).for_workers()
            shutil.rmtree(tmp_path / "x" / "c" / PLACE)
            with pytest.raises(Exception, match="submission 1 are missing: there is no") as caught:
                list(engine.run(first_block, (predictions,), [(2,)]))
    assert type(caught.value).__name__ == "ObjectError"
    assert pickle.loads(pickle.dumps(caught.value)).args == caught.value.args  # noqa: S301


def first_block(predictions: Any, size: int) -> Any:
    return next(predictions.blocks(size))
