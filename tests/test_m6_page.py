"""Milestone 6: the report page, as far as it can be judged without a browser."""

from __future__ import annotations

import json
import re
import unittest
from html.parser import HTMLParser
from typing import Any
from unittest import mock

from mini_agent.lab import pagedata, pagesize
from mini_agent.lab.page import SCRIPTS, embedded, render_page
from mini_agent.lab.page.curves import curves
from mini_agent.lab.page.table import SUMMARY_COLUMNS, summary_tables, tables
from mini_agent.lab.pagedata import page_data
from mini_agent.lab.pagesize import (
    SESSIONS, size_of, with_changes_that_fit, with_fewer_windows)

HOSTILE = "</script><b onclick=\"x\">&'$verdict ${title} \u2028<!--"


class Reader(HTMLParser):
    """Collects tags, attributes and the text of the data element; checks nesting."""

    VOID = {"meta", "input", "br", "link"}

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.data = ""
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """One more element."""
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """The element that was opened last has to be the one that ends."""
        assert self.open and self.open[-1] == tag, f"</{tag}> ends {self.open[-3:]}"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        """Text, or the JSON of the page."""
        if self.open and self.open[-1] == "script" and self.tags[-1][1].get("id") == "data":
            self.data += data
        elif self.open and self.open[-1] not in ("script", "style"):
            self.text += data


def message(role: str, text: str, group: int, **more: Any) -> dict[str, Any]:
    """A message of a page's history."""
    return {"step": 0, "role": role, "name": "", "tokens": 10, "chars": len(text),
            "lines": text.count("\n") + 1, "text": text, "calls": [], "error": "",
            "group": group, **more}


def data(text: str = "plain") -> dict[str, Any]:
    """A small comparison in which every string is `text`."""
    def row(policy: str, **values: Any) -> dict[str, Any]:
        return {"session": text, "format": text, "policy": policy, "window": 100, "steps": 2,
                "peak_tokens": 90, "sent_tokens": 150, "summary_tokens": 0, "cost": 1.0,
                "summary_price": 0.0,
                "over_window_steps": 0, "far_recall": .5, "far_in_context": .5, "recall": .5,
                "fresh": None, "lines": .5, "reach": .5, "prefix_breaks": 0.0, "compressions": {},
                "bill": None, "law_breaks": 0, "facts": {text: "gone"}, **values}

    insert = {"role": "user", "name": text, "text": text, "chars": len(text), "tokens": 3,
              "stands_for": [1, 2], "how": "summary", "calls": []}
    change = {"step": 1, "strategy": text, "trigger": "threshold", "before_tokens": 40,
              "after_tokens": 23, "affected": [1, 2], "dropped": [], "unsupported": [text],
              "inserts": [[1, insert]]}
    run = {"policy": "none", "window": None, "soft": None, "hard": None, "about": text,
           "source": text, "breaks": [], "tokens": [20, 120], "prefix": [0, 20], "over": [1],
           "missing": [[], []], "changes": [], "layers": {}, "facts": {text: [[0, "gone"]]}}
    governed = {**run, "policy": text, "window": 100, "soft": 100, "hard": 100, "tokens": [20, 23],
                "over": [], "changes": [change],
                "layers": {text: {"changes": 1, "saved": 17, "spent": 5}}}
    history = [message("system", text, 0), message("assistant", text, 1, calls=[[text, text, 5]]),
               message("tool", text, 1, name=text, error=text), message("user", text, 3)]
    return {"title": text, "command": text, "estimator": text,
            "rows": [row("none", over_window_steps=1), row(text, far_recall=.9, cost=.4)],
            "summary": [], "unsound": [], "facts": [text], "notes": [text], "sessions": [{
                "session": text, "format": text, "language": "en", "notes": [text],
                "windows": [100], "messages": history, "steps": [1, 4], "runs": [run, governed]}]}


def mean(policy: str = "", **values: Any) -> dict[str, Any]:
    """What a policy comes to over three sessions at a window of 100."""
    return {"window": 100, "policy": policy, "sessions": 3, "far_recall": .5, "low": .4,
            "high": .6, "worst_tenth": .3, "far_in_context": .5, "recall": .5, "fresh": .5,
            "lines": .5, "reach": .5, "cost": 1.0, "summary_price": 0.0, "prefix_breaks": 0.0,
            "bill": None, "over_share": 0.0, "law_breaks": 0, **values}


class SeveralTest(unittest.TestCase):
    """A page of more than one session."""

    def page(self, *means: dict[str, Any]) -> Reader:
        """Two sessions with these means over them."""
        one, other = data("one"), data("two")
        return Reader(render_page({**one, "summary": list(means), **{
            key: one[key] + other[key] for key in ("rows", "sessions")}}))

    def test_each_session_is_folded_up_and_what_counts_is_not(self) -> None:
        """Two that can be opened, each with a table and a curve, behind one table of means."""
        tags = [tag for tag, _ in self.page(mean("none"), mean("one", far_recall=.9)).tags]
        self.assertEqual(2, tags.count("details"))
        self.assertEqual(["table", "details", "table", "svg", "details", "table", "svg"],
                         [tag for tag in tags if tag in ("table", "details", "svg")][1:])
        self.assertNotIn("details", [tag for tag, _ in Reader(render_page(data())).tags])

    def test_a_line_joins_what_is_worth_its_price_and_what_is_unfit_is_hollow(self) -> None:
        """Dominated `dear` is neither; a breach of law and steps over are hollow;
        bounds are left out."""
        page = self.page(mean("none"), mean("cheap", cost=.3), mean("good", far_recall=.9, cost=.5),
                         mean("dear", far_recall=.8, cost=.7), mean("naive", law_breaks=1),
                         mean("wide", far_recall=.99, over_share=.2),
                         mean("oracle", far_recall=1.0))
        kinds = [attrs["class"] for tag, attrs in page.tags if tag == "circle"]
        self.assertEqual(["strong dot", "strong dot", "dot", "hollow dot", "hollow dot"], kinds)
        line = next(attrs["points"] for tag, attrs in page.tags if tag == "polyline")
        self.assertEqual(2, len(line.split()))

    def test_where_nothing_was_measured_there_is_no_picture(self) -> None:
        """Sessions too short to count have tables of their own and no means."""
        page = self.page(mean("none", sessions=0, far_recall=None, low=None))
        self.assertNotIn("circle", [tag for tag, _ in page.tags])
        self.assertNotIn("means over", page.text)

    def test_a_window_whose_policies_were_left_out_has_no_curve(self) -> None:
        """The baseline alone would look as if nothing had been done."""
        session = data()["sessions"][0]
        self.assertEqual(1, curves(session, [100, 200]).count("<figure"))
        alone = {**session, "runs": session["runs"][:1]}
        self.assertEqual(2, curves(alone, [100, 200]).count("<figure"))

    def test_a_curve_has_round_numbers_on_its_axes_each_once(self) -> None:
        """However few the steps and however odd the highest number."""
        for steps, highest in ((1, 0), (2, 90), (9, 1_234), (731, 36_406)):
            session = data()["sessions"][0]
            run = {**session["runs"][0], "tokens": [highest] * steps}
            figure = curves({**session, "runs": [run]}, [100])
            told = [int(number) for number in re.findall(r'class="tick"[^>]*>(\d+)<', figure)]
            across = told[told.index(0, 1):]
            self.assertEqual(sorted(set(across)), across)
            self.assertEqual(0, across[0])
            self.assertLessEqual(len(told), 14)


class PageTest(unittest.TestCase):
    """One file: whole, closed, without a network."""

    def test_the_page_is_well_formed_and_holds_its_data(self) -> None:
        """Every element is closed in order, and the JSON in it is the data."""
        page = Reader(render_page(data()))
        self.assertEqual([], page.open)
        self.assertEqual(data(), json.loads(page.data))

    def test_texts_of_a_session_are_never_markup(self) -> None:
        """A hostile text in every field adds no element and no attribute."""
        plain, hostile = Reader(render_page(data())), Reader(render_page(data(HOSTILE)))
        self.assertEqual([(tag, sorted(attrs)) for tag, attrs in plain.tags],
                         [(tag, sorted(attrs)) for tag, attrs in hostile.tags])
        self.assertEqual(data(HOSTILE), json.loads(hostile.data))
        self.assertIn(HOSTILE, hostile.text)
        self.assertEqual(plain.text.count("$"), hostile.text.replace(HOSTILE, "").count("$"))

    def test_nothing_is_fetched_from_anywhere(self) -> None:
        """No src, no href, no import, no url, and a policy that forbids them."""
        text = render_page(data())
        for tag, attrs in Reader(text).tags:
            self.assertFalse({"src", "href", "action"} & set(attrs), tag)
        self.assertNotRegex(text, r"@import|url\(|https?://|fetch\(|XMLHttpRequest|innerHTML")
        self.assertIn("default-src 'none'", text)

    def test_the_verdict_names_what_is_kept_and_what_it_costs(self) -> None:
        """Both numbers, of the best policy that fits and keeps the laws."""
        text = re.sub(r"\s+", " ", Reader(render_page(data("good"))).text)
        self.assertIn("good, window 100: without compression 1 of 2 steps would not have fitted. "
                      "Take good: it keeps the most of what is used again, far recall 0.900, 0.500 "
                      "in context, at a cost of 0.40.", text)

    def test_the_same_data_gives_the_same_bytes(self) -> None:
        """No clock, no chance, no order of a set."""
        self.assertEqual(render_page(data()), render_page(data()))

    def test_no_script_writes_markup_or_names_a_decision(self) -> None:
        """Only textContent; `apply` is the one function that changes a view."""
        text = render_page(data())
        for name in SCRIPTS:
            self.assertTrue(name.endswith(".js"))
        self.assertEqual(1, text.count("function apply("))
        self.assertNotIn("outerHTML", text)

    def test_embedded_json_cannot_end_its_element(self) -> None:
        """No `<` and no line separator is left in it."""
        self.assertNotRegex(embedded(data(HOSTILE)), "[<\u2028\u2029]")


class MarksTest(unittest.TestCase):
    """The best and the worst of a column."""

    def marks(self, values: list[float | None], made: str = "recall") -> list[str]:
        """Which of the policies a, b, c ... with these values are marked, of their cells."""
        keys = [key for key, *_ in SUMMARY_COLUMNS if key != "interval"]
        rows = [mean(**{**dict.fromkeys(keys), "policy": name, "low": 1.0, "high": 1.0, "bill": 1.0,
                                                    made: value})
                for name, value in zip("abcdef", values)]
        cells = re.findall(r'<td class="number ?(\w*)" data-key="[^"]*">', summary_tables(rows))
        number = [key for key in keys if key != "policy"].index(made)
        return cells[number::len(keys) - 1]

    def test_two_that_share_the_best_are_both_marked(self) -> None:
        """What more than half share is no distinction; a missing value is none."""
        for values, expected in (([.2, .9, .5], ["worst", "best", ""]),
                                 ([1.0, 0.0, 0.0, 1.0, .5], ["best", "worst", "worst", "best", ""]),
                                 ([1.0, 1.0, .5], ["", "", "worst"]),
                                 ([1.0, None, .5, .7], ["best", "", "worst", ""]),
                                 ([1.0, 1.0], ["", ""])):
            with self.subTest(values):
                self.assertEqual(expected, self.marks(values))
        self.assertEqual(["best", "worst", ""], self.marks([.2, .9, .5], "cost"))

    def test_a_cost_is_the_best_or_worst_with_the_summaries_on_top(self) -> None:
        """One that is low because a summariser was paid instead is not marked the best."""
        made = data()
        made["rows"] += [{**made["rows"][1], "policy": name, "cost": cost, "summary_price": more}
                         for name, cost, more in (("a", .2, .5), ("b", .6, .0))]
        cells = re.findall(r'<td class="number ?(\w*)" data-key="0\.[467]">', tables(made["rows"]))
        self.assertEqual(["best", "worst", ""], cells)
        self.assertIn(">0.200 +0.50 ", tables(made["rows"]))


class SizeTest(unittest.TestCase):
    """What is left out of a page that would be too large."""

    def page(self, *sizes: int) -> dict[str, Any]:
        """A session with windows 100, 200 ... whose runs have these sizes."""
        windows = [100 * number for number in range(1, len(sizes) + 1)]
        return {"session": "s", "notes": [], "windows": windows,
                "runs": [{"window": window, "changes": "x" * size}
                         for window, size in zip(windows, sizes)]}

    def test_windows_nobody_asked_for_go_first_the_farthest_before_the_others(self) -> None:
        """As many as have to; those asked for stay, and the page says what went."""
        page = self.page(900, 900, 900, 900)
        for room, kept in ((9_000, [100, 200, 300, 400]), (3_500, [200, 300, 400]),
                           (2_500, [300, 400]), (500, [300])):
            with self.subTest(room):
                fitted = with_fewer_windows(page, {300}, room)
                self.assertEqual(kept, fitted["windows"])
                self.assertEqual(kept, [run["window"] for run in fitted["runs"]])
                gone = [window for window in page["windows"] if window not in kept]
                self.assertEqual([f"windows left out for the size of the page: "
                                  f"{', '.join(map(str, gone))}"] if gone else [],
                                 fitted["notes"])
        self.assertEqual([], page["notes"])

    def test_of_a_window_that_is_too_large_by_itself_not_all_policies_are_shown(self) -> None:
        """Those that keep the most have the first choice of the room; the page names the rest."""
        page = {**self.page(0, 0), "runs": [
            {"policy": name, "window": window, "changes": ["x" * size]}
            for window in (100, 200)
            for name, size in (("none", 0), ("a", 300), ("b", 500), ("c", 200), ("d", 100))]}
        for room, windows, policies in ((3_000, [100, 200], [*"abcd"]), (1_500, [200], [*"abcd"]),
                                        (750, [200], ["b", "c"]), (650, [200], ["b", "d"])):
            with self.subTest(room), mock.patch.object(pagesize, "CHANGES", room):
                fitted = with_changes_that_fit(page, [200], ["b", "a", "c", "d", "none"])
                self.assertEqual(windows, fitted["windows"])
                self.assertEqual([(window, name) for window in windows
                                  for name in ("none", *policies)],
                                 [(run["window"], run["policy"]) for run in fitted["runs"]])
                gone = [name for name in "abcd" if name not in policies]
                self.assertEqual([f"policies left out for their size: {', '.join(gone)}; a "
                                  "comparison of fewer shows them"] if gone else [],
                                 fitted["notes"][len(windows) == 1:])

    def test_a_page_is_measured_in_bytes(self) -> None:
        """A Chinese character has three."""
        self.assertEqual((5, 11), (size_of("abc"), size_of("三个字")))

    def test_what_breaks_laws_is_not_advised_where_its_runs_were_left_out(self) -> None:
        """The page knows of it from the comparison, and not from what has room on it."""
        made = data("good")
        del made["sessions"][0]["runs"][1]
        text = Reader(render_page({**made, "unsound": ["good"]})).text
        self.assertIn("No policy here stays within the window and keeps the laws.",
                      re.sub(r"\s+", " ", text))

    def test_each_session_has_its_part_of_the_page(self) -> None:
        """None is left out while windows can be, however large the first ones are."""
        def result(name: str) -> dict[str, Any]:
            return {"session": name, "page": {**self.page(*[400_000] * 3), "session": name},
                    "rows": [{"window": 200, "session": name}], "breaks": []}

        with mock.patch.object(pagedata, "summarise", return_value=[]):
            made = page_data("", "runs", (), [result(name) for name in "abcd"])
        self.assertEqual(([*"abcd"], []),
                         ([session["session"] for session in made["sessions"]], made["notes"]))
        self.assertTrue(all(200 in session["windows"] for session in made["sessions"]))
        self.assertLess(size_of(made["sessions"]), SESSIONS + 1_000)


if __name__ == "__main__":
    unittest.main()
