"""Milestone 5: a person at the keyboard. Start with `conversation.py`."""
