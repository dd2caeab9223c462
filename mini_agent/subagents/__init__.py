"""Milestone 4: sub-agents, isolation between processes in place of compression in one.

Where one window cannot hold a task, a child with a window of its own does a part of
it. Read `endings.py` (how a child can end), `orders.py` (what it is told),
`processes.py` (how it is held), `starting.py` (what it is started with), `delegate.py` (the
tool `delegate`), `child.py` (the other side of the pipe), `traces.py` (the way back into
its trace).
"""
