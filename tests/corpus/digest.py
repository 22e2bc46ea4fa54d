"""Print a digest of each template's analysis: `python tests/corpus/digest.py FILE...`.

Two processes must print the same, whatever their hash seeds. Both the analysis itself and its
document count. Sets are sorted, since their order in memory is not part of an analysis; everything
else is taken in the order it stands.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import sys
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from autoparser import AutoparserError, ChatTemplate, analyze, document


def written(value: object) -> str:
    """Write a value out, down to its last field."""
    if isinstance(value, ChatTemplate):
        return value.name or ""
    if isinstance(value, Struct) or (
        dataclasses.is_dataclass(value) and not isinstance(value, type)
    ):
        names = (
            value.__struct_fields__
            if isinstance(value, Struct)
            else [field.name for field in dataclasses.fields(value)]
        )
        inside = [f"{name}={written(getattr(value, name))}" for name in names]
        return f"{type(value).__name__}({', '.join(inside)})"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{written(key)}: {written(value[key])}' for key in value)}}}"
    if isinstance(value, set | frozenset):
        return f"set({', '.join(sorted(map(written, value)))})"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(written, value))}]"
    return repr(value)


def digest(path: Path) -> str:
    """Return the digest of one template's analysis, or of the error it ends in."""
    template = ChatTemplate(path.read_text(encoding="utf-8"), name=path.stem)
    try:
        analysis = analyze(template)
        text = written(analysis) + json.dumps(document(analysis))
    except AutoparserError as error:
        text = str(error)
    return f"{path.stem} {hashlib.sha256(text.encode()).hexdigest()}"


def main() -> None:
    """Print one line a template."""
    for name in sys.argv[1:]:
        sys.stdout.write(f"{digest(Path(name))}\n")


if __name__ == "__main__":
    main()
