"""Grammars for a request, as Lark, GBNF and structural tags."""
