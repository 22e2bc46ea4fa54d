"""A program for the Python of an engine: what that engine's own parsers read of texts.

Contract: it imports the standard library and the engine alone, and this package need not be
installed there; `__main__.py` says how it is asked.
"""
