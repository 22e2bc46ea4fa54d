"""What a model may write: grammars for a request, as Lark, GBNF and structural tags."""
