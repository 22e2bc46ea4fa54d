"""The export to transformers' declarative `response_template`."""

from .build import response_template

__all__ = ["response_template"]
