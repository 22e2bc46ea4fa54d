"""What becomes of a turn in later prompts: the renderer, token bridges and round trips."""
