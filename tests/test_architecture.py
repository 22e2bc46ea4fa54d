"""The files that the map of the house names are there."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
_PATH = re.compile(r"`((?:analysis|cli|docs|fixtures|reports|tests)/[^`\s<*]+)`")


def test_every_path_in_the_map_is_there() -> None:
    for page in ("ARCHITECTURE.md", "CONTRIBUTING.md"):
        named = _PATH.findall((ROOT / page).read_text(encoding="utf-8"))
        assert named, page
        assert [path for path in named if not (ROOT / path).exists()] == [], page
