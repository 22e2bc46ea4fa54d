"""A format learnt from unlabelled outputs: the tools that were offered say where calls stand."""

from .offered import OfferedTools
from .output import LoggedOutput, OutputError
from .proposing import Proposal, proposals

__all__ = ["LoggedOutput", "OfferedTools", "OutputError", "Proposal", "proposals"]
