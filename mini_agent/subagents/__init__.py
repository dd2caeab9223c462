"""Milestone 4: sub-agents, which split a task over several windows.

Where one window cannot hold a task, a child does a part of it in a process and a window of its
own. Read `endings.py` (how a child can end), `orders.py` (what it is told), `processes.py` (its
process), `starting.py` (what it is started with), `delegate.py` (the tool `delegate`),
`child.py` (the child's side of the pipe), `traces.py` (how its trace is found).
"""
