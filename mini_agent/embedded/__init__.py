"""Milestone 6: a policy in the loop of another agent.

    with EmbeddedWindow(messages, "digest", 32_000, tools) as window:
        reply = ask(messages=window.request(), tools=window.tools)

`messages` is the agent's own list, which only grows; what is sent instead of it is chosen
as in `run` and in the lab. With a trace, `why` and `show` can explain the session afterwards. Read
`window.py`, then `intake.py` (what comes in) and `forms.py` (the forms of two protocols).
"""

from .window import EmbeddedWindow

__all__ = ["EmbeddedWindow"]
