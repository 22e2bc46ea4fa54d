"""A saved format from before the usual form was asked; all else is in `uses/`."""

from __future__ import annotations

import json
from pathlib import Path

import yaml

from .conftest import Run


def test_a_format_from_before_the_usual_form_was_asked_is_read(
    tmp_path: Path, autoparser: Run
) -> None:
    template, saved = tmp_path / "spoiled.jinja", tmp_path / "x.json"
    table = yaml.safe_load(Path("fixtures/usual_form.yaml").read_text("utf-8"))
    template.write_text(table["arguments reversed"]["template"])
    autoparser("analyze", template, "--format", "file", "-o", saved)
    document = json.loads(saved.read_text("ascii"))
    for check in document["checks"]:
        del check["forms"]
    document["gate"]["faults"] = []
    del document["gate"]["usual_asked"], document["gate"]["usual_passed"]
    saved.write_text(json.dumps(document), "ascii")
    ran = autoparser("analyze", saved)
    assert ran.code == 0
    assert "It wants   arguments as JSON text\n" in ran.out
