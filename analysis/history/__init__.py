"""What becomes of a turn in later prompts: renderer, token bridges, round trips."""
