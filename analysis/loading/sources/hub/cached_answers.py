"""Small files cached of the Hub's answers, beside the Hub's own cache; each whole or not there.

They lie where `huggingface_hub` wants what other libraries derive from its files
(`HF_ASSETS_CACHE`). Caching is a favour to a later run without the Hub: where it cannot be done,
nothing is cached, and this run goes on.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

__all__ = ["cache_answer", "cached_answer"]


def cache_answer(repository: str, name: str, content: bytes) -> None:
    """Cache ``content`` under ``name``, in place of what was there."""
    with contextlib.suppress(OSError, ValueError):
        folder = _folder(repository)
        folder.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=folder, suffix=".incomplete")
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(content)
            Path(temporary).replace(folder / name)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise


def cached_answer(repository: str, name: str) -> bytes | None:
    """Return what was cached; None where there is nothing."""
    try:
        return (_folder(repository) / name).read_bytes()
    except (OSError, ValueError):
        return None


def _folder(repository: str) -> Path:
    # Not by the library's own function, which makes the folder whenever it is asked for it.
    from huggingface_hub import constants  # noqa: PLC0415 - slow to import

    assets = Path(constants.HF_ASSETS_CACHE).expanduser()
    return assets / "autoparser" / repository.replace("/", "--") / "kept"
