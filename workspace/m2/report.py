"""Add up the entries of a timesheet by person."""

import sys
import time

from durations import add, show

ENTRIES = "entries.txt"


def by_person(lines):
    """Map each name to the durations that stand behind it."""
    people = {}
    for line in lines:
        if line.strip():
            name, duration = line.split()
            people.setdefault(name, []).append(duration)
    return people


def report():
    """One line a person, sorted by name."""
    with open(ENTRIES, encoding="utf-8") as handle:
        people = by_person(handle)
    return "\n".join(f"{name:6} {show(add(people[name]))}" for name in sorted(people))


def main(arguments):
    print(report(), flush=True)
    while "--watch" in arguments:
        time.sleep(1)
        print(report(), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
