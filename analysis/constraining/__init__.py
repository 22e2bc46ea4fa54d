"""What a model may write: grammars, masks, and answers written under them."""
