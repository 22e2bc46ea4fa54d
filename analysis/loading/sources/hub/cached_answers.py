"""Small files cached of the Hub's answers, beside the Hub's own cache.

They lie where `huggingface_hub` wants what other libraries derive from its files
(`HF_ASSETS_CACHE`), for a later run without the Hub.
"""

from __future__ import annotations

from pathlib import Path

from autoparser.analysis.loading.cached_files import cache_file, cached_file

__all__ = ["cache_answer", "cached_answer"]


def cache_answer(repository: str, name: str, content: bytes) -> None:
    """Cache ``content`` under ``name``, in place of what was there."""
    cache_file(_folder(repository) / name, content)


def cached_answer(repository: str, name: str) -> bytes | None:
    """Return what was cached; None where there is nothing."""
    return cached_file(_folder(repository) / name)


def _folder(repository: str) -> Path:
    # Not by the library's own function, which makes the folder whenever it is asked for it.
    from huggingface_hub import constants  # noqa: PLC0415 - slow to import

    assets = Path(constants.HF_ASSETS_CACHE).expanduser()
    return assets / "autoparser" / repository.replace("/", "--") / "kept"
