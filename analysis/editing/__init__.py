"""Edited templates: findings fixed, round trips preserved, and the proof of each edit."""
