"""The sandbox as it should be used: by a separate user, to whom control groups were delegated."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import arena
from arena_sandboxes.groups import has_groups

USER = "61184"
"""A user ID of the range that systemd assigns to services dynamically."""
ENTER = """\
set -e
mount --bind "$BASE" "$PLACE/python"
mount --bind "$ROOT" "$PLACE/arena"
mount --bind "$SITE" "$PLACE/site"
chown -R $USER "$PLACE/home"
for file in passwd subuid subgid; do mount --bind "$PLACE/$file" /etc/$file; done
for door in $DOORS; do
    mkdir -p "${door%/*}"
    chown $USER "${door%/*}" "$door"
    echo $$ > "$door"
done
exec setpriv --reuid=$USER --regid=$USER --clear-groups env -i HOME="$PLACE/home" \\
    PATH=/usr/local/bin:/usr/bin:/bin PYTHONPATH="$PLACE/arena:$PLACE/arena/plugins:$PLACE/site" \\
    "$PLACE/python/bin/python3" -B -c "$CODE"
"""
CODE = """\
import os
from arena.testing import check_sandbox
from arena.testing.hostile_programs import PROGRAMS
from arena.plugin.manager import PluginManager
sandbox = PluginManager().sandboxes.resolve(SANDBOX)
print(os.getuid(), list(sandbox.check()))
conformance = check_sandbox(sandbox, programs=[one for one in PROGRAMS if one.name in NAMES])
print(len(conformance.checks), [one for one in conformance.failed])
"""
NAMES = (
    "hidden-files", "memory-children", "fork-bomb", "disk-tmp", "orphans", "unreadable-output",
    "output-swap", "proc-writes", "setuid-programs", "namespaces", "counters", "shared-memory-left",
    "kills-all", "more-cores",
)  # fmt: skip

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user"),
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="there is no bubblewrap"),
    pytest.mark.skipif(not has_groups(), reason="there are no control groups to delegate"),
]


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that every user can enter, which pytest's own are not."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        for name in ("python", "arena", "site", "home"):
            (Path(folder) / name).mkdir()
        users = Path("/etc/passwd").read_text()
        (Path(folder) / "passwd").write_text(f"{users}runner:x:{USER}:{USER}::/:/bin/sh\n")
        for name in ("subuid", "subgid"):  # podman runs a program as one of these users
            (Path(folder) / name).write_text("runner:1879048192:65536\n")
        yield Path(folder)


@pytest.mark.parametrize("sandbox", ["bwrap", "podman"])
def test_hostile_programs_are_held_for_a_user(sandbox: str, place: Path) -> None:
    if shutil.which(sandbox) is None:
        pytest.skip(f"there is no {sandbox}")
    from arena_sandboxes.groups import new_group

    group = new_group()
    assert group is not None
    doors = [door.parent.with_name("arena-user") / door.name for door in group.doors]
    variables = {
        "BASE": sys.base_prefix,
        "ROOT": str(Path(arena.__file__).parents[1]),
        "SITE": str(Path(pytest.__file__).parents[1]),
        "PLACE": str(place),
        "USER": USER,
        "DOORS": " ".join(map(str, doors)),
        "CODE": f"SANDBOX, NAMES = {sandbox!r}, {NAMES!r}\n{CODE}",
    }
    done = subprocess.run(
        ["unshare", "--mount", "bash", "-c", ENTER],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    for door in doors:
        door.parent.rmdir()
    assert done.stdout == f"{USER} []\n{len(NAMES)} []\n", done.stderr
