"""Renders compared: probes, phases, and the format that they give, checked."""
