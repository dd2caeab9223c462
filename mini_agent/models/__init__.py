"""Models: the protocol (`base.py`) and one file for each kind of model."""
