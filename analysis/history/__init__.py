"""What becomes of a turn in later prompts: rendering to tokens, the bridge, round trips."""
