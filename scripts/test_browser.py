"""Milestone 6: the report page in a real browser (`make test-browser`).

Loads pages from disk in Debian's chromium, headless: no request, no console error,
every key and slider does what it says, hostile sessions change nothing, and a
session of 5 MB is usable within a second. Screenshots go to traces/. Skipped with a
word where chromium or chromedriver is missing.
"""

from __future__ import annotations

import ctrl_c  # first: see there  # noqa: F401

import json
import random
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

from fresh import ROOT, TRACES
from webdriver import FLAGS, Browser, browser, find_browser

from mini_agent.cli import main
from mini_agent.messages import assistant, call, system, tool_result, user
from mini_agent.trace import Tracer, line

HOSTILE = "</script><b id='evil'>&\"'"
USABLE = 1000  # milliseconds until a page of a 5 MB session can be used
LARGEST = 3_000_000  # bytes of such a page
LESSON = ROOT / "workspace" / "sessions" / "lesson.jsonl"
LESSON_OPTIONS = ("--policy", "none,naive,keep_head,whole_rounds,clip,clip_errors",
                  "--window", "1800", "--fact", "AssertionError")
PALE = """
const light = color => { const [r, g, b] = color.match(/[0-9.]+/g).slice(0, 3).map(part => {
  part /= 255; return part > .03928 ? ((part + .055) / 1.055) ** 2.4 : part / 12.92; });
  return .2126 * r + .7152 * g + .0722 * b + .05; };
const clear = color => color.startsWith('rgba') && color.endsWith(' 0)');
const behind = part => { while (clear(getComputedStyle(part).backgroundColor)) {
  part = part.parentElement; } return light(getComputedStyle(part).backgroundColor); };
return [...document.querySelectorAll('main *')].filter(part => {
  if (part.tagName === 'title' || !part.getClientRects().length || ![...part.childNodes].some(
      node => node.nodeType === Node.TEXT_NODE && node.textContent.trim())) return false;
  const style = getComputedStyle(part), back = behind(part);
  const front = light(part instanceof SVGElement ? style.fill : style.color);
  return Math.max(front, back) / Math.min(front, back) < 4.5;
}).map(part => part.textContent);"""  # the texts with less contrast than WCAG 2 asks for (AA)
_missing = find_browser()


def page_of(folder: Path, session: Path, *options: str) -> Path:
    """The page that `compare` makes of a session."""
    path = folder / "page.html"
    with open(folder / "out.txt", "w", encoding="utf-8") as out:
        old, sys.stdout = sys.stdout, out
        try:
            status = main(["compare", str(session), *options, "--html", str(path)])
        finally:
            sys.stdout = old
    if status:
        raise RuntimeError(f"compare exited with {status}")
    return path


def session_file(path: Path, rounds: int, size: int, word: str = "") -> Path:
    """A trace of so many calls with results of `size` characters."""
    random_ = random.Random(7)
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        tracer = Tracer(lambda record: file.write(line(record)) and None)
        tracer.event("run_start", format=1, task=word or "large")
        tracer.message(0, system(f"be careful {word}"))
        tracer.message(0, user(f"find the fault {word}"))
        for step in range(rounds):
            name = f"src/part_{random_.randrange(40)}/file_{step}.py"
            made = call(f"c{step}", f"read_file{word}", {"path": name, "why": word})
            tracer.message(step, assistant(f"reading {name} {word}", [made]))
            rows = "\n".join(f"{n}: value_{random_.randrange(10**6)} = {name} {word}"
                             for n in range(size // 50))
            tracer.message(step, tool_result(made["id"], made["name"], rows))
        tracer.message(rounds, assistant(f"done {word}"))
    return path


@unittest.skipIf(isinstance(_missing, str), f"skipped: {_missing} is not installed")
class BrowserTest(unittest.TestCase):
    """The page as a person has it in front of them."""

    window: Browser

    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def _lesson(self) -> Path:
        return page_of(self.folder, LESSON, *LESSON_OPTIONS)

    def _step(self) -> int:
        return int(self.window.run("return document.getElementById('step').value"))

    def test_it_loads_from_disk_without_a_request_or_an_error(self) -> None:
        """The only address that is asked for is the file's own."""
        page = self._lesson()
        with browser() as self.window:
            self.window.open(page)  # a first time: what the browser does at its start is over
            self.window.log("performance")
            self.window.open(page)
            sent = [json.loads(entry["message"])["message"] for entry in
                    self.window.log("performance")]
            urls = {message["params"]["request"]["url"] for message in sent
                    if message["method"] == "Network.requestWillBeSent"}
            self.assertEqual({page.resolve().as_uri()}, urls - {"about:blank"})
            self.assertEqual([], self.window.log("browser"))

    def test_each_key_does_what_it_says(self) -> None:
        """j k n p move, / searches, ? helps, and each has a button."""
        page = self._lesson()
        with browser() as self.window:
            self.window.open(page, "#s=0&p=naive&w=1800&t=0")
            self.window.press("jj")
            self.assertEqual(2, self._step())
            self.window.press("k")
            self.assertEqual(1, self._step())
            self.window.press("n")
            self.assertEqual(5, self._step())
            self.window.press("n")
            self.assertEqual(6, self._step())
            self.window.press("p")
            self.assertEqual(5, self._step())
            for button, step in (("next-step", 6), ("prev-step", 5), ("next-change", 6),
                                 ("prev-change", 5)):
                self.window.run(f"document.getElementById('{button}').click()")
                self.assertEqual(step, self._step(), button)
            self.window.press("?")
            self.assertFalse(self.window.run("return document.getElementById('help').hidden"))
            self.window.press("/")
            self.assertEqual("search", self.window.run("return document.activeElement.id"))
            self.window.press("duration")
            self.assertRegex(self.window.run("return document.getElementById('found').textContent"),
                             r"^\d+ places$")
            self.window.press("zzz")
            self.assertEqual("nowhere at this step", self.window.run(
                "return document.getElementById('found').textContent"))
            self.assertEqual([], self.window.log("browser"))

    def test_the_window_slider_and_the_policy_change_what_is_seen(self) -> None:
        """Another window is another view, and the address holds the choice."""
        page = self._lesson()
        with browser() as self.window:
            self.window.open(page, "#s=0&p=clip&w=1800&t=5")
            before = self._after_side()
            self.window.run("const s = document.getElementById('window'); s.value = s.max;"
                            "s.dispatchEvent(new Event('input'))")
            self.assertNotEqual(before, self._after_side())
            self.assertIn("w=2700", self.window.run("return location.hash"))
            self.window.run("const s = document.getElementById('policy'); s.value = 'none';"
                            "s.dispatchEvent(new Event('change'))")
            self.assertEqual("no limit", self.window.run(
                "return document.getElementById('window-out').textContent"))

    def _after_side(self) -> str:
        return self.window.run("return document.getElementById('after').textContent")

    def test_the_lesson_can_be_seen(self) -> None:
        """Naive loses system and task; the probe is kept by clip_errors and gone by clip."""
        page = self._lesson()
        with browser() as self.window:
            self.window.open(page, "#s=0&p=naive&w=1800&t=5")
            gone = self.window.run("return [...document.querySelectorAll('#before > li.gone')]"
                                   ".map(li => li.className.split(' ')[0])")
            self.assertEqual(["system", "user"], gone[:2])
            states = {}
            for policy in ("clip", "clip_errors"):
                self.window.open(page, f"#s=0&p={policy}&w=1800&t=5")
                states[policy] = self.window.run(
                    "return document.querySelector('#probes li').textContent")
            self.assertNotIn("kept", states["clip"])
            self.assertNotIn("GONE", states["clip_errors"])

    def test_a_click_on_a_head_sorts_the_table(self) -> None:
        """Rising first, falling on the second click."""
        page = self._lesson()
        with browser() as self.window:
            self.window.open(page)
            click = ("[...document.querySelectorAll('table.sortable th')].find(th =>"
                     " th.textContent === 'peak').querySelector('button').click()")
            peaks = ("return [...document.querySelectorAll('table.sortable tbody tr')].map(row =>"
                     " Number([...row.cells].at(-6).dataset.key))")
            self.window.run(click)
            rising = self.window.run(peaks)
            self.window.run(click)
            self.assertEqual(sorted(rising), rising)
            self.assertEqual(rising[::-1], self.window.run(peaks))

    def test_a_hostile_session_changes_nothing(self) -> None:
        """Markup in every field is shown as text; no element comes of it."""
        session = session_file(self.folder / "hostile.jsonl", 12, 900, HOSTILE)
        page = page_of(self.folder, session, "--policy", "none,whole_rounds,clip", "--window",
                       "2000", "--fact", HOSTILE)
        with browser() as self.window:
            self.window.open(page, "#s=0&p=clip&w=2000&t=9")
            self.assertIsNone(self.window.run("return document.getElementById('evil')"))
            self.assertIn(HOSTILE, self._after_side())
            self.assertEqual([], self.window.log("browser"))

    def test_the_picture_of_the_readme_is_made_by_its_command(self) -> None:
        """The command in a comment of README.md makes a PNG under 200 kB."""
        (self.folder / "traces").mkdir()
        page_of(self.folder, LESSON, *LESSON_OPTIONS).rename(self.folder / "traces" / "page.html")
        line = re.search(r"made by: (chromium .*) -->", (ROOT / "README.md").read_text("utf-8"))[1]
        subprocess.run(["sh", "-c", line.replace("--headless", " ".join(FLAGS))], check=True,
                       cwd=self.folder, capture_output=True, timeout=60)
        made = (self.folder / "traces" / "page.png").read_bytes()
        self.assertTrue(made.startswith(b"\x89PNG"))
        self.assertLess(len(made), 200_000)

    def test_a_session_of_5_mb_is_small_and_usable_within_a_second(self) -> None:
        """Under 3 MB; loaded, and one step on, in less than a second each."""
        session = session_file(self.folder / "large.jsonl", 550, 10_000)
        self.assertGreater(session.stat().st_size, 5_000_000)
        page = page_of(self.folder, session, "--policy",
                       "none,whole_rounds,clip,clip_errors_summary", "--window", "64000")
        self.assertLess(page.stat().st_size, LARGEST)
        with browser() as self.window:
            self.window.open(page)
            loaded = self.window.run("const t = performance.getEntriesByType('navigation')[0];"
                                     "return t.domContentLoadedEventEnd - t.startTime")
            moved = self.window.run("const t = performance.now(); show({ step: 480 });"
                                    "document.body.offsetHeight; return performance.now() - t")
            print(f"\n5 MB session: page {page.stat().st_size // 1024} KB, ready after "
                  f"{loaded:.0f} ms, a far step after {moved:.0f} ms")
            self.assertLess(loaded, USABLE)
            self.assertLess(moved, USABLE)

    def test_it_fits_360_pixels_and_has_a_dark_side(self) -> None:
        """Nothing is wider than the screen, however long the names of the sessions; pictures of
        each for a person to look at."""
        many = self.folder / "many"
        many.mkdir()
        for number in range(2):
            (many / f"{number}_{'a_long_name_' * 8}.jsonl").write_bytes(LESSON.read_bytes())
        with browser((360, 1400)) as self.window:
            self.window.open(page_of(self.folder, many, *LESSON_OPTIONS))
            self.assertEqual(360, self.window.run("return innerWidth"))
        page = self._lesson()
        for name, width, dark in (("light-1280", 1280, False), ("dark-1280", 1280, True),
                                  ("light-360", 360, False), ("dark-360", 360, True)):
            with browser((width, 1400), dark) as self.window:
                self.window.open(page, "#s=0&p=clip&w=1800&t=5")
                self.assertEqual([width, width], self.window.run(
                    "return [innerWidth, Math.max(document.documentElement.scrollWidth, "
                    "innerWidth)]"), name)
                TRACES.mkdir(exist_ok=True)
                self.window.screenshot(TRACES / f"page-{name}.png")
                self.window.run("document.getElementById('bench').scrollIntoView()")
                self.window.screenshot(TRACES / f"page-bench-{name}.png")

    def test_every_text_can_be_told_from_its_ground(self) -> None:
        """By day and by night, the names at the curves too."""
        for dark in (False, True):
            with browser(dark=dark) as self.window:
                self.window.open(self._lesson(), "#s=0&p=clip&w=1800&t=5")
                self.assertEqual([], self.window.run(PALE))

    def test_nothing_is_cut_off_on_paper(self) -> None:
        """No column is behind an edge, and what only a screen can show is not there."""
        with browser((700, 900)) as self.window:
            self.window.open(self._lesson(), "#s=0&p=clip&w=1800&t=5")
            self.window.on_paper()
            self.assertEqual([], self.window.run(
                "return [...document.querySelectorAll('main *')].filter(part =>"
                " part.scrollWidth > part.clientWidth + 1 && ['auto', 'scroll', 'hidden'].includes("
                "getComputedStyle(part).overflowX) && part.offsetWidth > 1).map(part => part.id)"))
            said = self.window.run("return document.getElementById('bench').innerText")
            self.assertIn("lesson.jsonl", said)
            for word in ("search", "keys", "The strip of the window"):
                self.assertNotIn(word, said)


def load_tests(loader: Any, tests: unittest.TestSuite, pattern: Any) -> unittest.TestSuite:
    """All tests of this file, in order."""
    return loader.loadTestsFromTestCase(BrowserTest)


if __name__ == "__main__":
    unittest.main(verbosity=2)
