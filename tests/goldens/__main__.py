"""Compare all templates with the goldens, write those anew, or show one beside an older commit.

`python -m tests.goldens` compares, `--write` writes `digests.txt` anew, and
`--beside COMMIT TEMPLATE` asks both that commit and this tree, and prints what differs.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path
from typing import cast

from autoparser import Json

from .golden_answers import CORPUS, ROOT, answers, template_paths, text_of
from .golden_file import differences, write_digests


def main() -> int:
    """Run the command line; return 1 if something differs."""
    options = argparse.ArgumentParser(prog="python -m tests.goldens", description=__doc__)
    options.add_argument("--write", action="store_true", help="write the digests anew")
    options.add_argument("--beside", nargs=2, metavar=("COMMIT", "TEMPLATE"), help="show how")
    asked = options.parse_args()
    paths = template_paths()
    if asked.beside is not None:
        commit, name = asked.beside
        if name not in paths:
            options.error(f"there is no template {name!r}: name a line of digests.txt")
        try:
            lines = [*_beside(commit, paths[name])]
        except subprocess.CalledProcessError as error:
            options.error(f"{commit} cannot be asked: {error}")
    elif asked.write:
        if not any(name.startswith(CORPUS) for name in paths):
            options.error(f"their lines would go: install the package {CORPUS} first")
        write_digests()
        return 0
    else:
        lines = differences([*paths]).splitlines()
    sys.stdout.writelines(f"{line}\n" for line in lines)
    return 1 if lines else 0


def _beside(commit: str, path: Path) -> Iterator[str]:
    """Compare the answers of a commit and of this tree, section by section."""
    now = answers(path)
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        _check_out(commit, tree)
        before = _answers_of_tree(tree, path)
    for section in dict.fromkeys([*before, *now]):
        yield from unified_diff(
            text_of(before.get(section)).splitlines(),
            text_of(now.get(section)).splitlines(),
            f"{section} at {commit}",
            f"{section} now",
            lineterm="",
        )


def _check_out(commit: str, tree: Path) -> None:
    archive = tree.with_suffix(".tar")
    # The person who runs this chooses the commit.
    subprocess.run(["git", "archive", "-o", str(archive), commit], cwd=ROOT, check=True)  # noqa: S603, S607
    shutil.unpack_archive(archive, tree, filter="data")
    # The installed import hook knows only this tree, so link the folders into the package.
    package = tree / "autoparser"
    for folder in ("analysis", "cli", "reports"):
        if (tree / folder).is_dir() and not (package / folder).exists():
            (package / folder).symlink_to(tree / folder, target_is_directory=True)


def _answers_of_tree(tree: Path, path: Path) -> dict[str, Json]:
    """Ask another tree's package, by its own questions where it has some."""
    mine = Path(__file__).with_name("golden_answers.py")
    own = tree / mine.relative_to(ROOT)
    command = [sys.executable, str(own if own.exists() else mine), str(path)]
    variables = {**os.environ, "PYTHONPATH": str(tree)}
    made = subprocess.run(  # noqa: S603 - our own script, and the tree that it was told to ask
        command, env=variables, cwd=tree, stdout=subprocess.PIPE, check=True
    )
    return cast("dict[str, Json]", json.loads(made.stdout))


if __name__ == "__main__":
    sys.exit(main())
