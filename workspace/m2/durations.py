"""Durations as people write them in a timesheet: `45m`, `1h30m`, `2d`."""

import re

SECONDS = {"d": 8 * 3600, "h": 3600, "m": 60}  # a day of work has eight hours
PART = re.compile(r"(\d+)([dhm])")


def parse(text):
    """The seconds of a duration. ValueError if `text` is not one."""
    total = 0
    for number, unit in PART.findall(text):
        total += int(number) * SECONDS[unit]
    return total


def add(texts):
    """The seconds of several durations together."""
    total = 0
    for text in texts:
        total += parse(text)
    return total


def show(seconds):
    """A number of seconds as a duration, in hours and minutes: `1h30m`, `0m`."""
    hours, rest = divmod(seconds, 3600)
    minutes = rest // 60
    return "".join([f"{hours}h" if hours else "", f"{minutes}m" if minutes or not hours else ""])
