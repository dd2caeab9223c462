"""Milestone 5: the live agent on the command line; it is on the topmost floor, with `cli.py`."""
