"""What a model may write, as a grammar for constrained decoding."""
