"""Other programs' Jinja: which are installed here, and what they make of a conversation."""

from .asking import JinjaAnswer, JinjaQuestion, ask
from .installed_jinjas import OtherJinja, installed_jinjas

__all__ = [
    "JinjaAnswer",
    "JinjaQuestion",
    "OtherJinja",
    "ask",
    "installed_jinjas",
]
