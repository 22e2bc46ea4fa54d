"""The debugger in a terminal; what it shows is drawn by `autoparser.reports`.

- `DebuggerApp`: the template, the prompt beside it, and why each piece of that was written.
- `switches_screen.py`, `beside_screen.py`, `edit_screen.py`, `choice_screen.py`: what stands over
  it.
"""

from .app import DebuggerApp

__all__ = ["DebuggerApp"]
