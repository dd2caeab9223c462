"""Milestone 6: a policy in the loop of another agent.

    window = EmbeddedWindow(messages, "digest", 32_000, tools)
    reply = ask(messages=window.request(), tools=window.tools)

`messages` is the agent's own list, which only grows; what is sent in place of it is chosen
as in `run` and in the lab. With a trace, `why` and `show` can be asked afterwards. Read
`window.py`; the two forms in which agents keep their messages are in `forms.py`.
"""

from .window import EmbeddedWindow

__all__ = ["EmbeddedWindow"]
