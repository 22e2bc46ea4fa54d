"""The map of the house is what the code is: its files exist, its layers are those checked."""

import re

from tests.layer_picture import PAGE, ROOT, page_with, picture

_PATH = re.compile(r"`((?:analysis|cli|docs|fixtures|reports|tests)/[^`\s<*]+)`")


def test_every_path_in_the_map_exists() -> None:
    for page in ("ARCHITECTURE.md", "CONTRIBUTING.md"):
        named = _PATH.findall((ROOT / page).read_text(encoding="utf-8"))
        assert named, page
        assert [path for path in named if not (ROOT / path).exists()] == [], page


def test_picture_of_layers_is_made_from_the_code() -> None:
    assert PAGE.read_text(encoding="utf-8") == page_with(picture()), "python -m tests.layer_picture"
