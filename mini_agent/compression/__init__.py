"""Milestone 3: what the model is sent when not everything fits.

The history is never edited. A *view* of it is what the model gets; *strategies*
propose changes to the view, one function applies a change and checks the laws,
and the *window* decides when. Read `view.py`, `laws.py`, `window.py` in this
order; then one strategy, `shrink.py`.
"""
