"""GGUF files: the template, the special tokens and the vocabulary of their headers."""

from .contents import GgufContents, contents_of
from .header import Header, read_header
from .window import CachedWindow, FileWindow, Window

__all__ = [
    "CachedWindow",
    "FileWindow",
    "GgufContents",
    "Header",
    "Window",
    "contents_of",
    "read_header",
]
