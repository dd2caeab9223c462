"""Milestone 5: the live agent on the command line; the topmost floor, beside `cli.py`."""
