"""Milestone 3: what the model is sent when not everything fits.

The history is never edited. A *view* of it is what the model gets; *strategies*
propose changes to the view, the *window* decides when, and the *ladder* is the one
place where a change is checked against the laws and applied. Read `view.py`, `laws.py`,
`scene.py`, then one strategy, `shrink.py`, then `window.py`.
"""
