"""From what a person names to a template that renders, in bounds, and to a tokenizer."""
