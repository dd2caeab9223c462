"""A made session, for measuring: the same messages for the same seed."""

from __future__ import annotations

import random

from mini_agent.messages import Message, assistant, call, system, tool_result, user


def session(messages: int, seed: int = 1, size: int = 4_700) -> list[Message]:
    """A seeded session: reads, searches and commands over 200 files."""
    dice = random.Random(seed)
    made = [system("You are a careful agent."), user("Find out why the nightly build fails.")]
    names = [f"src/module_{n}/part_{n * 7 % 40}.py" for n in range(200)]
    rows = [f"    value_{n} = compute(item_{n % 97}, limit={n * 13 % 1009})  # see {names[n % 200]}"
            for n in range(2_000)]
    for number in range((messages - 2) // 2):
        name, start = dice.choice(names), dice.randrange(1_900)
        text = "\n".join(f"{n}: {rows[n % 2_000]}" for n in range(start, start + size // 75))
        made += [assistant(f"Looking at {name} next.",
                           [call(f"c{number}", "read_file", {"path": name, "start": start})]),
                 tool_result(f"c{number}", "read_file", text)]
    return made
