"""A template under which what the model wrote comes back: the least change that does it, proven."""

from .preserve import LeftStep, PreservationProof, PreservingTemplate, preserving_template
from .template_edits import TemplateEdit

__all__ = [
    "LeftStep",
    "PreservationProof",
    "PreservingTemplate",
    "TemplateEdit",
    "preserving_template",
]
