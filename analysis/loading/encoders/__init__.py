"""Templates of models that ship a Python function in place of one."""

from .encoder import load_encoder

__all__ = ["load_encoder"]
