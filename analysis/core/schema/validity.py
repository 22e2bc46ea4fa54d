"""Whether a schema is one, and whether values meet it, as jsonschema has it; nothing is fetched."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from autoparser.analysis.core.conversation import Json

Validate = Callable[[Json], str]
"""Says what in a value the schema does not allow; empty: it is valid."""


@cache
def _library() -> tuple[Any, Any]:
    """Return jsonschema and referencing; neither ships types that say all."""
    # Only here: they take longer to import than most grammars to write.
    with _grammar_of_addresses_later():
        import jsonschema  # noqa: PLC0415
    import referencing  # noqa: PLC0415

    return jsonschema, referencing


_ADDRESSES = "rfc3987_syntax"


@contextmanager
def _grammar_of_addresses_later() -> Generator[None]:
    """Let jsonschema's check of IRIs be imported when the first IRI is checked.

    Its import makes an Earley parser of each of its terms, which takes many times as long as to
    import all the rest of jsonschema.
    """
    if _ADDRESSES in sys.modules or find_spec(_ADDRESSES) is None:
        yield
        return
    later = ModuleType(_ADDRESSES)
    later.__dict__["is_valid_syntax"] = _is_valid_syntax
    sys.modules[_ADDRESSES] = later
    try:
        yield
    finally:
        del sys.modules[_ADDRESSES]


def _is_valid_syntax(term: str, value: str) -> bool:
    valid: bool = import_module(_ADDRESSES).is_valid_syntax(term, value)
    return valid


def _dialect(schema: Json) -> Any:
    """Return the validator of the draft that `$schema` names; of 2020-12 where it names none."""
    library, _ = _library()
    latest = library.Draft202012Validator
    if not isinstance(schema, dict) or not isinstance(schema.get("$schema"), str):
        return latest
    return library.validators.validator_for(schema, default=latest)


def validator(
    schema: Json,
    *,
    unknown_formats: set[str] | None = None,
    checks: Mapping[str, Callable[[str], bool]] | None = None,
) -> Validate:
    """Make the check of one schema; None as a schema allows everything.

    By the standard `format` is an annotation. With a set of `unknown_formats` it is asserted, and
    the formats that are met and that no check is known for are put there. `checks` assert it, too,
    by the formats' names, and know all that are to be asserted.
    """
    if schema is None:
        return lambda _: ""
    library, references = _library()
    dialect, formats = _dialect(schema), None
    if unknown_formats is not None:
        formats = dialect.FORMAT_CHECKER
        dialect = _asserting_formats(dialect, unknown_formats)
    elif checks is not None:
        formats = library.FormatChecker(())
        formats.checkers = {name: (_of_texts(check), ()) for name, check in checks.items()}
    # Its own registry would fetch what a `$ref` names.
    checker = dialect(schema, registry=references.Registry(), format_checker=formats)

    def complaint(value: Json) -> str:
        error = library.exceptions.best_match(checker.iter_errors(value))
        return "" if error is None else f"{error.message} at {error.json_path}"

    return complaint


def _asserting_formats(dialect: Any, unknown: set[str]) -> Any:
    """Return the validator of a draft that notes the formats of which it knows nothing."""
    asserted, known = dialect.VALIDATORS["format"], dialect.FORMAT_CHECKER.checkers

    def checked(checker: Any, name: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if isinstance(instance, str) and name not in known:
            unknown.add(str(name))
        yield from asserted(checker, name, instance, schema) or ()

    return _library()[0].validators.extend(dialect, {"format": checked})


def _of_texts(check: Callable[[str], bool]) -> Callable[[object], bool]:
    """Let a check of texts take any value: a format says nothing of others."""
    return lambda value: not isinstance(value, str) or check(value)


def _told(error: Any) -> Any:
    """Return the error that tells most: of a list of schemas, the one that is none."""
    library, _ = _library()
    if error.absolute_path and error.absolute_path[-1] == "type":
        return error
    return library.exceptions.best_match([error])


@dataclass(frozen=True, slots=True)
class Flaw:
    """What keeps a schema from being one."""

    path: tuple[str | int, ...]
    """Where in the schema: names, and places in lists."""
    message: str
    """What is wrong there, in jsonschema's words."""
    value: Json = None
    """What stands there."""
    is_no_schema: bool = False
    """Whether a schema should stand there, and something else does."""


def flaws(schema: Json) -> Iterator[Flaw]:
    """Say where a schema is none of its draft, the outermost places first.

    Raises RecursionError for one that is nested too deep to be looked at.
    """
    dialect = _dialect(schema)
    errors = map(_told, dialect(dialect.META_SCHEMA).iter_errors(schema))
    for error in sorted(errors, key=lambda each: (len(each.absolute_path), str(each.json_path))):
        no_schema = error.validator == "type" and error.validator_value == ["object", "boolean"]
        yield Flaw(tuple(error.absolute_path), error.message, error.instance, no_schema)
