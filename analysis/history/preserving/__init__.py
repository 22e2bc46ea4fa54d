"""A template under which what the model wrote comes back: the least change that does it, proven."""

from autoparser.analysis.loading.edits import TemplateEdit

from .preserve import LeftStep, PreservationProof, PreservingTemplate, preserving_template

__all__ = [
    "LeftStep",
    "PreservationProof",
    "PreservingTemplate",
    "TemplateEdit",
    "preserving_template",
]
