"""Turns in later prompts: the renderer, token bridges, round trips."""
