"""`autoparser plugins check`: its forms and exit codes; the questions have tests of their own."""

from __future__ import annotations

import json

from jsonschema import Draft202012Validator

from tests.cli.conftest import ROOT, Run


def test_json_has_what_its_schema_says(autoparser: Run) -> None:
    ran = autoparser("plugins", "check", "--no-import", "--json")
    told = json.loads(ran.out)
    schema = json.loads((ROOT / "docs" / "plugins.schema.json").read_text("utf-8"))
    Draft202012Validator(schema).validate(told)
    assert ran.code == (0 if told["ok"] else 1)
    shown = autoparser("plugins", "check", "--no-import").out
    assert all(each["what"] in " ".join(shown.split()) for each in told["points"])


def test_what_is_no_python_is_exit_code_2(autoparser: Run) -> None:
    ran = autoparser("plugins", "check", "--python", "/nowhere/python")
    assert (ran.code, ran.out) == (2, "")
    assert "name an interpreter" in ran.err
    assert autoparser("plugins", "chek").code == 2
