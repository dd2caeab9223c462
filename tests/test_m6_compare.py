"""Milestone 6: the command `compare`: many sessions, the same bytes however the work is shared."""

import csv
import io
import json
import multiprocessing
import os
import re
import shlex
import signal
import struct
import subprocess
import sys
import tempfile
import unittest
from contextlib import chdir, suppress
from dataclasses import replace
from functools import partial, reduce
from html import unescape
from multiprocessing.connection import wait
from pathlib import Path
from unittest import mock

from mini_agent.errors import LawError, UsageError
from mini_agent.held import mean
from mini_agent.lab import compare as compare_module, pagesize, processes, run_compare
from mini_agent.lab.bounds import FAILURES, Bounds
from mini_agent.lab.measures import KEYS
from mini_agent.lab.page.table import COLUMNS, SUMMARY_COLUMNS
from mini_agent.lab.progress import ProgressLine
from mini_agent.lab.sessions import open_sessions
from mini_agent.lab.sources import find_sources, shard
from mini_agent.lab.summary import interval, summarise
from tests.labs import REAL, ROOT, SAMPLES, mini_agent
from tests.support import is_gone, listening
from tests.talks import Terminal

CALL = ("compare", SAMPLES, "--policy", "published,whole_rounds", "--window", "1200,2k")
ONE_FILE = ("compare", SAMPLES / "lesson.jsonl", "--policy", "published,none,clip,naive",
            "--window", "1200,2k")
QUICK = ("compare", SAMPLES, "--policy", "none", "--no-evidence", "--window", "2k")


def printed_rows(text):
    """{head: cell} of each row of the tables for people."""
    rows, heads = [], []
    for told in text.splitlines():
        cells = re.split(r" {2,}", told.strip())
        if cells[0].startswith("window ") and len(cells) > 2:
            heads = ["policy", *cells[1:]]
        elif heads and len(cells) in (len(heads), len(heads) - 1):  # no compressions
            rows.append(dict(zip(heads, cells)))
        else:
            heads = []
    return rows


def page_rows(page):
    """The same of the tables of a page."""
    rows = []
    for table in re.findall(r"<table.*?</table>", page, re.DOTALL):
        heads = re.findall(r"<th [^>]*>([^<]*)", table)
        for row in re.findall(r"<tr>(<td.*?)</tr>", table, re.DOTALL):
            rows.append(dict(zip(heads, re.findall(r"<td[^>]*>([^<]*?)(?: <span.*?)?</td>", row))))
    return rows


class OutputTest(unittest.TestCase):
    """Rows as JSON, CSV and a table."""

    def test_json_is_a_list_of_rows_with_the_baseline_first(self):
        """A row a session, window and policy, in this order."""
        status, out, err = mini_agent(*CALL, "--json")
        rows = json.loads(out)
        self.assertEqual((0, ""), (status, err))
        names = sorted(path.name for path in SAMPLES.iterdir())
        self.assertEqual([(name, window, policy) for name in names for window in (1200, 2000)
                          for policy in ("none", "published", "whole_rounds")],
                         [(row["session"], row["window"], row["policy"]) for row in rows])
        self.assertTrue(all(tuple(row) == KEYS for row in rows))

    def test_csv_has_the_same_values(self):
        """Dictionaries as `name=value`."""
        call = ("compare", SAMPLES / "lesson.jsonl", "--window", "1200", "--fact", "a b")
        rows = json.loads(mini_agent(*call, "--json")[1])
        table = list(csv.DictReader(io.StringIO(mini_agent(*call, "--csv")[1])))
        self.assertEqual(len(rows), len(table))
        for row, line in zip(rows, table):
            for key in KEYS[:-3]:
                self.assertEqual("" if row[key] is None else str(row[key]), line[key])
            self.assertEqual(" ".join(f"{name}={times}" for name, times in
                                      row["compressions"].items()), line["compressions"])
            self.assertEqual(f'"a b"={row["facts"]["a b"]}', line["facts"])

    def test_the_terminal_the_page_json_and_csv_have_the_same_numbers(self):
        """Of one session and of the means of several: what is printed is what a script gets."""
        page = Path(self.enterContext(tempfile.TemporaryDirectory())) / "page.html"
        for call, heads in ((ONE_FILE, COLUMNS), (CALL, SUMMARY_COLUMNS)):
            call = (*call, "--price", "3,0.3,15")
            data = json.loads(mini_agent(*call, "--json", "--verdict")[1])
            self.assertEqual(data["rows"], json.loads(mini_agent(*call, "--json")[1]))
            self.assertEqual([str(row["bill"]) for row in data["rows"]], [
                row["bill"] for row in csv.DictReader(io.StringIO(mini_agent(*call, "--csv")[1]))])
            printed = printed_rows(mini_agent(*call, "--html", page)[1])
            rows = [row for row in data["means" if heads is SUMMARY_COLUMNS else "rows"]
                    if row.get("sessions", 1)]
            self.assertEqual(len(rows), len(printed))
            keys = [(key, head) for key, head, *_ in heads
                    if key not in ("interval", "compressions", "facts")]
            for row, cells in zip(rows, printed):
                for key, head in keys:
                    digits = cells[head].lstrip("+").removesuffix(" %")
                    value = row[key] * 100 if cells[head].endswith(" %") else row[key]
                    self.assertEqual(cells[head].lstrip("+"), str(value) if isinstance(
                        value, str | int) else f"{value:.{len(digits.partition('.')[2])}f}" + (
                            " %" * cells[head].endswith(" %")), (row["policy"], key))
            for key, head in keys:
                shown = [cells[head] for cells in page_rows(page.read_text(encoding="utf-8"))
                         if set(cells) >= {head for _, head in keys}]
                if head == "cost":  # of one session a price of summaries may stand behind it
                    shown = [cost.partition(" +")[0] for cost in shown]
                self.assertEqual([cells[head] for cells in printed], shown, head)

    def test_one_session_is_a_table_a_window(self):
        """Each policy with its figures, and where each fact is."""
        status, out, _ = mini_agent("compare", SAMPLES / "lesson.jsonl", "--policy", "naive",
                                    "--window", "1800", "--fact", "只用 Python 标准库")
        self.assertEqual(0, status)
        self.assertIn("lesson.jsonl (trace): 8 steps, 7 calls, 2315 tokens\n", out)
        self.assertRegex(out, r"\nnaive +1\.000 +1\.000 +1\.000 ")
        self.assertIn("fact '只用 Python 标准库': verbatim under none; gone under naive\n", out)

    def test_several_sessions_are_a_summary(self):
        """Over those that are long enough, with their number."""
        status, out, _ = mini_agent(*CALL)
        self.assertEqual(0, status)
        self.assertIn(f"{len(list(SAMPLES.iterdir()))} sessions, estimator runs\n(at a window "
                      "those count that outgrow it and have 20 calls or more)\n", out)
        self.assertRegex(out, r"\nwindow 2000 +sessions +far ")

    def test_sessions_that_fit_whole_are_one_line(self):
        """With the largest request; alone, or asked about a fact or a bill, each has its table."""
        fit = "fit whole: 6 of 6 sessions, no request larger than 6563 tokens\n"
        call = ("compare", SAMPLES, "--policy", "clip", "--window")
        self.assertEqual(fit, mini_agent(*call, "64k")[1])
        out = mini_agent(*call, "3500")[1]
        self.assertEqual(1, out.count("window 3500 "))
        for asked in (("--fact", "N"), ("--price", "3,0.3,15")):
            self.assertEqual(6, mini_agent(*call, "64k", *asked)[1].count("window 64000 "))
        self.assertIn("lesson.jsonl, window 64000: the whole session fits",
                      mini_agent("compare", SAMPLES / "lesson.jsonl", *call[2:], "64k")[1])
        out = mini_agent("compare", SAMPLES / "lesson.jsonl", SAMPLES / "log-review-zh.json",
                         *call[2:], "3000")[1]
        self.assertIn("log-review-zh.json (openai-chat): ", out)
        self.assertEqual(["", "fit whole: 1 of 2 sessions, no request larger than 2270 tokens"],
                         out.splitlines()[-2:])

    def test_evidence_is_in_the_rows_of_json_too(self):
        """Of the policies that were asked for, as many items as were asked for."""
        rows = json.loads(mini_agent(
            "compare", SAMPLES / "lesson.jsonl", "--policy", "digest,clip", "--window", "1800",
            "--evidence", "2", "--json")[1])
        none, digest, clip = (row.get("missed") for row in rows)
        self.assertEqual((None, 2, []), (none, len(digest), clip))
        self.assertEqual({"step": 5, "text": 'return "".join(parts)', "last_seen": 3,
                          "reach": True},
                         digest[1])

    def test_lines_that_could_not_be_read_are_told_of_many_sessions_too(self):
        """Under the head of the table of means, by the name of the file."""
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        log = mini_agent("convert", SAMPLES / "rename.json")[1]
        for name, text in (("a", log), ("b", log.replace("\n", "\n{broken\n", 1))):
            (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
        out = mini_agent("compare", folder, "--policy", "none", "--window", "2k")[1]
        self.assertEqual(["  note: b.jsonl: 1 line could not be read"], out.splitlines()[2:3])
        self.assertNotIn("note: a.jsonl", out)

    def test_evidence_lists_what_was_missing_the_largest_first(self):
        """With the step that needed it and the message that last had it."""
        out = mini_agent("compare", SAMPLES / "lesson.jsonl", "--policy", "whole_rounds",
                         "--window", "1800", "--evidence", "1")[1]
        self.assertIn("whole_rounds at 1800: missing: 2 items, the 1 largest:\n"
                      '  step 5, last seen in #3: "return \\"\\".join(parts)"\n', out)
        out = mini_agent("compare", SAMPLES / "lesson.jsonl", "--policy", "digest",
                         "--window", "1800", "--evidence", "2")[1]
        self.assertIn('  step 5, last seen in #3, behind a handle: "return \\"\\".join(parts)"\n',
                      out)

    def test_prices_make_a_bill_in_every_output(self):
        """A column where there are prices only, in the table, in that of means, on the page; in
        the rows it is empty without them. Shares keep the prices."""
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        one, paid = ("compare", SAMPLES / "lesson.jsonl", "--policy", "clip", "--window", "1800"), (
            "--price", "3,0.3,15")
        self.assertEqual([None, None], [row["bill"] for row in json.loads(
            mini_agent(*one, "--json")[1])])
        bills = [row["bill"] for row in json.loads(mini_agent(*one, *paid, "--json")[1])]
        self.assertEqual([.016679, .01778], bills)
        out = mini_agent(*one, *paid, "--html", folder / "p.html")[1]
        head, *body = out.splitlines()[2:5]
        end = head.index("bill") + len("bill")
        self.assertEqual(["0.0167", "0.0178"], [row[end - 6:end] for row in body])
        self.assertIn("at a bill of 0.0178.", " ".join(out.split()))
        page = (folder / "p.html").read_text(encoding="utf-8")
        self.assertIn("--price 3,0.3,15 --html", page)
        self.assertIn(">bill</th>", page)
        mini_agent(*one, "--html", folder / "p.html")
        self.assertNotIn(">bill</th>", (folder / "p.html").read_text(encoding="utf-8"))
        self.assertNotIn("bill", mini_agent(*one)[1])
        many = mini_agent(*CALL, *paid)[1]
        self.assertIn(" a session. ", " ".join(many.split()))
        self.assertIn("    bill  ", many)
        for number in (1, 2):
            (folder / str(number)).write_text(
                mini_agent(*CALL, *paid, "--shard", f"{number}/2")[1], encoding="utf-8")
        merge = ("compare", "--merge", folder / "1", folder / "2")
        self.assertEqual([many, many], [mini_agent(*merge)[1], mini_agent(*merge, *paid)[1]])
        status, out, err = mini_agent(*merge, "--price", "1,1,1")
        self.assertEqual((2, "", 1), (status, out, err.count("\n")))

    def test_without_evidence_its_columns_are_empty(self):
        """And everything else is the same."""
        call = ("compare", SAMPLES / "lesson.jsonl", "--window", "1200", "--json")
        full, plain = (json.loads(mini_agent(*call, *more)[1])
                       for more in ((), ("--no-evidence",)))
        shares = ("far_recall", "far_in_context", "recall", "fresh", "lines", "reach")
        self.assertEqual([{**row, **dict.fromkeys(shares)} for row in full], plain)


class SameBytesTest(unittest.TestCase):
    """However the work is shared out."""

    def test_jobs_change_nothing(self):
        """One process and several, in JSON, CSV and as a table; of many files and of one."""
        missed = (*ONE_FILE, "--evidence")
        for call in ((*CALL, "--json"), (*QUICK, "--csv"), (*QUICK[:4], "--evidence"),
                     (*ONE_FILE, "--json", "--fact", "edit_file"), missed):
            with self.subTest(call[2:]):
                self.assertEqual(mini_agent(*call), mini_agent(*call, "--jobs", 3))
        self.assertIn("naive", mini_agent(*missed)[1].partition("missing")[2])

    def test_a_file_is_read_once_for_all_its_processes(self):
        """The task is run, and the log read, before there are any."""
        opened = []
        with mock.patch.object(compare_module, "open_sessions", lambda *given: opened.append(
                given) or open_sessions(*given)):
            self.assertEqual(0, mini_agent(*ONE_FILE, "--jobs", 4)[0])
        self.assertEqual(1, len(opened))

    def test_shares_put_together_are_the_whole(self):
        """In any order of the shares; each of them works on its own files only."""
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        names = []
        for number in (3, 1, 2):
            status, out, _ = mini_agent(*QUICK, "--shard", f"{number}/3")
            names.append(folder / f"{number}.json")
            names[-1].write_text(out, encoding="utf-8")
            self.assertEqual((0, 2), (status, len(json.loads(out)["results"])))
        for form in ("--json", "--csv"):
            self.assertEqual(mini_agent(*QUICK, form),
                             mini_agent("compare", "--merge", *names, form))

    def test_shares_that_do_not_fit_are_refused(self):
        """One missing, one twice, one of another call, no share at all."""
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        one, two, other, junk = (folder / name for name in ("1", "2", "other", "junk"))
        one.write_text(mini_agent(*QUICK, "--shard", "1/2")[1], encoding="utf-8")
        two.write_text(mini_agent(*QUICK, "--shard", "2/2")[1], encoding="utf-8")
        other.write_text(mini_agent(*QUICK[:-1], "900", "--shard", "2/2")[1], encoding="utf-8")
        junk.write_text("[]")
        self.assertEqual(0, mini_agent("compare", "--merge", one, two)[0])
        changed = []
        for place, value in ((("results", 0, "rows", 0, "window"), {}), (("plan",), None),
                             (("results",), 5), (("shard",), ["1/2"]),
                             (("results", 0, "rows", 0, "far_recall"), 1.0)):
            share = json.loads(one.read_text(encoding="utf-8"))
            *way, last = place
            reduce(lambda value, key: value[key], way, share)[last] = value
            changed.append(folder / f"changed-{len(changed)}")
            changed[-1].write_text(json.dumps(share), encoding="utf-8")
        for shares in ((one,), (one, one), (one, two, two), (one, other), (one, junk),
                       (one, folder / "nothing"), *((share, two) for share in changed)):
            with self.subTest(shares):
                status, out, err = mini_agent("compare", "--merge", *shares)
                self.assertEqual((2, "", 1), (status, out, err.count("\n")))

    def test_what_a_share_was_told_is_not_told_otherwise(self):
        """Of shares, other options would do nothing without a word, and a share judges nothing."""
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        for number in (1, 2):
            (folder / str(number)).write_text(
                mini_agent(*QUICK, "--shard", f"{number}/2")[1], encoding="utf-8")
        merge = ("compare", "--merge", folder / "1", folder / "2")
        told = QUICK[QUICK.index("--policy"):]
        self.assertEqual(mini_agent(*merge), mini_agent(*merge, *told))
        self.assertEqual(mini_agent(*merge), mini_agent(*QUICK[:-len(told)], *merge[1:]))
        for more in (("--policy", "clip_errors"), ("--window", "77k"), ("--window", "32k"),
                     ("--estimator", "chars4"), ("--fact", "x"), ("--evidence",),
                     ("--workspace", "."), ("--html", folder / "p.html"), ("--shard", "1/2")):
            with self.subTest(more):
                status, out, err = mini_agent(*merge, *more)
                self.assertEqual((2, "", 1), (status, out, err.count("\n")), err)
                self.assertIn(f"mini-agent: {more[0]}: ", err)
        self.assertIn("these shares are of other sessions", mini_agent(
            "compare", SAMPLES / "lesson.jsonl", *merge[1:])[2])
        for more in (("--csv",), ("--json", "--verdict"), ("--max-peak", "9"),
                     ("--min-recall", "1"), ("--fail-on", "law")):
            self.assertIn("a share is JSON, and is not judged", mini_agent(
                *QUICK, "--shard", "1/2", *more)[2])

    def test_a_file_is_compared_once_by_whatever_names_it_is_asked_for(self):
        """A path from here and one from the root, and a link to it: the first name stays."""
        lesson = SAMPLES / "lesson.jsonl"
        link = Path(self.enterContext(tempfile.TemporaryDirectory())) / "link.jsonl"
        link.symlink_to(lesson)
        with chdir(SAMPLES.parent):
            found = find_sources([f"{SAMPLES.name}/lesson.jsonl", str(lesson), str(link)])
        self.assertEqual([("lesson.jsonl", True)], [(one.name, one.asked) for one in found])
        every = find_sources([str(SAMPLES), str(lesson)])
        self.assertEqual(len(every), len({one.name for one in every}))
        self.assertEqual(["lesson.jsonl"], [one.name for one in every if one.asked])

    def test_the_command_on_a_page_makes_it_again_whatever_the_facts_are(self):
        """A fact may begin as an option does, or with the sign of a file."""
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        page, facts = folder / "page.html", folder / "facts"
        facts.write_text("-rw-r--r--\n@property\n@@ -1,3 +1\n$HOME 'x'\n", encoding="utf-8")
        mini_agent("compare", SAMPLES / "lesson.jsonl", "--policy", "none", "--fact", f"@{facts}",
                   "--html", page)
        made = page.read_text(encoding="utf-8")
        told = unescape(re.search("made by <code>(.*?)</code>", made, re.DOTALL)[1])
        page.unlink()
        self.assertEqual(0, mini_agent(*shlex.split(told)[1:])[0])
        self.assertEqual(made, page.read_text(encoding="utf-8"))

    def test_the_page_is_the_same_however_it_is_made(self):
        """One process, four, or shares: the same bytes, and no word of how it was shared."""
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        page = folder / "page.html"
        call = ("compare", SAMPLES / "lesson.jsonl", SAMPLES / "rename.json", "--policy",
                "naive", "--window", "1800", "--fact", "AssertionError")
        pages = []
        for more in ((), ("--jobs", "4")):
            self.assertEqual(0, mini_agent(*call, *more, "--html", page)[0])
            pages.append(page.read_bytes())
        one, several = (self.tight_page(page, *ONE_FILE[:-1], "1200", "--fact", "edit_file", *more)
                        for more in ((), ("--jobs", "3")))
        self.assertTrue(one == several)
        shares = [folder / "1", folder / "2"]
        for number, share in enumerate(shares, 1):
            share.write_text(mini_agent(*call, "--shard", f"{number}/2", "--html", page)[1],
                             encoding="utf-8")
        self.assertEqual(0, mini_agent("compare", "--merge", *shares, "--html", page)[0])
        pages.append(page.read_bytes())
        self.assertEqual(1, len(set(pages)))
        self.assertNotIn(b"--jobs", pages[0])
        share = folder / "plain"
        share.write_text(mini_agent(*call, "--shard", "1/1")[1], encoding="utf-8")
        self.assertEqual(2, mini_agent("compare", "--merge", share, "--html", page)[0])

    def tight_page(self, path, *call):
        """The bytes of the page of a call, where not all of its changes have room."""
        with mock.patch.object(pagesize, "CHANGES", 20_000):
            self.assertEqual(0, mini_agent(*call, "--html", path)[0])
        text = path.read_bytes()
        self.assertTrue(b"windows left out for their size: " in text)
        return text

    def test_policy_files_are_called_as_they_were_asked_for(self):
        """In rows, page and runs alike; two with one name inside, or that of another policy, or
        `none`, are kept apart, and what a file says that it breaks is not held against others."""
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        files = [str(folder / f"{at}.json") for at in range(3)]
        for path, name, breaks in zip(files, ("clip", "clip", "none"), ([], [3], [])):
            Path(path).write_text(json.dumps({"name": name, "breaks": breaks, "ladder": [
                {"strategy": "tool_result_clipping"}]}), encoding="utf-8")
        names = ["none", "clip", *files]
        call = ("compare", SAMPLES / "lesson.jsonl", "--policy", ",".join(names[1:]),
                "--window", "1800")
        page = folder / "page.html"
        status, out, _ = mini_agent(*call, "--json", "--html", page)
        rows = json.loads(out)
        self.assertEqual((0, names), (status, [row["policy"] for row in rows]))
        data = json.loads(re.search(r'<script type="application/json"[^>]*>(.*?)</script>',
                                    page.read_text(encoding="utf-8"), re.DOTALL)[1])
        self.assertEqual(names, [row["policy"] for row in data["rows"]])
        runs = [run for run in data["sessions"][0]["runs"] if run["window"] in (0, 1800)]
        self.assertEqual(names, [run["policy"] for run in runs])
        self.assertEqual([None, 1800, 1800, 1800, 1800], [run["hard"] for run in runs])
        told = mini_agent(*call)[1]
        self.assertIn("Take clip", " ".join(told.split()))
        self.assertLess(rows[4]["peak_tokens"], rows[0]["peak_tokens"])

    def test_names_do_not_depend_on_where_the_files_lie(self):
        """They begin below the deepest folder that all files share."""
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        for name in ("a/full.jsonl", "b/full.jsonl"):
            (folder / name).parent.mkdir()
            (folder / name).write_bytes((SAMPLES / "lesson.jsonl").read_bytes())
        self.assertEqual(["a/full.jsonl", "b/full.jsonl"],
                         [source.name for source in find_sources([str(folder)])])
        self.assertEqual(["full.jsonl"], [source.name for source in find_sources(
            [str(folder / "a" / "full.jsonl")])])

    def test_a_file_that_goes_after_its_folder_was_read_is_left_to_who_reads_it(self):
        """The others are compared all the same; one that was named is refused at once."""
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        gone = str(folder / "gone.jsonl")
        with mock.patch("mini_agent.lab.sources._files_in", return_value=[gone]):
            self.assertEqual([(gone, 0, False)], [
                (source.path, source.size, source.asked) for source in find_sources([str(folder)])])
        with self.assertRaisesRegex(UsageError, "cannot be read"):
            find_sources([gone])

    def test_a_share_is_every_nth_file(self):
        """All shares together are all files, each once."""
        sources = find_sources([str(SAMPLES)])
        shares = [shard(sources, f"{number}/4") for number in range(1, 5)]
        self.assertEqual(sources, sorted((source for share in shares for source in share),
                                         key=lambda source: source.at))
        for text in ("0/4", "5/4", "1", "a/b", "1/0", "", "1/2/3", "-1/4"):
            with self.subTest(text), self.assertRaises(UsageError):
                shard(sources, text)


class BadInputTest(unittest.TestCase):
    """One clear line each, or a result that says what it could not do."""

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def refused(self, *arguments):
        """The one line with which a call is refused."""
        status, out, err = mini_agent("compare", *arguments)
        self.assertEqual((2, "", 1), (status, out, err.count("\n")), err)
        return err

    def test_what_is_no_session_is_refused_in_one_line(self):
        """Empty, binary, a folder without sessions, nothing at all."""
        (self.folder / "empty.jsonl").touch()
        (self.folder / "binary").write_bytes(bytes(range(256)) * 20)
        hollow = self.folder / "hollow"
        hollow.mkdir()
        self.assertIn("empty", self.refused(self.folder / "empty.jsonl"))
        self.refused(self.folder / "binary")
        self.assertIn("no file in this folder", self.refused(hollow))
        self.refused(self.folder / "nothing")
        self.refused()

    def test_wrong_options_are_refused_in_one_line(self):
        """With close names where there are some."""
        session = SAMPLES / "lesson.jsonl"
        self.assertIn("did you mean published?", self.refused(session, "--policy", "publisht"))
        self.assertIn("did you mean oracle or recall?", self.refused(session, "--policy", "oracel"))
        for path in ("mine.toml", "./mine", "mine.json.bak"):
            self.assertIn("a policy file is JSON, and is named NAME.json",
                          self.refused(session, "--policy", path))
        for window in ("0", "-5", "many", "", "1.5", "٣", "9" * 30):
            with self.subTest(window):
                self.assertIn("--window", self.refused(session, f"--window={window}"))
        self.refused(session, "--jobs", "0")
        self.refused(session, "--fail-on", "rain")
        self.refused(session, "--estimator", "rums")
        self.refused(session, "--fact", f"@{self.folder}/nothing")
        Path(self.folder, "blank").write_text("\n \n", encoding="utf-8")
        self.refused(session, "--fact", f"@{self.folder}/blank")
        self.refused(session, "--evidence", "--no-evidence")
        for price in ("3,0.3", "3,0.3,-1", "a,b,c", "nan,1,1"):
            self.assertIn("--price: no prices in", self.refused(session, "--price", price))

    def test_a_wrong_plan_is_refused_before_any_work(self):
        """A policy, an estimator, a window, prices, a number of processes."""
        for wrong in ({"policies": ("clop",)}, {"estimator": "rums"}, {"windows": (1_800, 0)},
                      {"price": "3"}):
            with self.subTest(wrong), self.assertRaises(UsageError):
                compare_module.Plan(**{"policies": ("clip",), "windows": (1_800,), **wrong}).check()
        with self.assertRaisesRegex(UsageError, "0 jobs do nothing"):
            list(compare_module.compare([], compare_module.Plan((), ()), 0))

    def test_what_of_a_log_is_not_measured_is_said(self):
        """Of one that all of is, nothing is; and nothing is made of a page that nobody wants."""
        plan = compare_module.Plan(("none",), (1_800,))
        for path, notes in (
                (SAMPLES / "lesson.jsonl", []),
                (ROOT / "tests" / "data" / "sessions" / "valid" / "claude_code.jsonl",
                 ["the recorded agent compressed its own context 2 times: what it dropped is "
                  "in the history here", "no part of the history, and in no number: "
                  "1 text of a summary, "
                  "2 records of a sub-agent"])):
            result, = compare_module.compare(find_sources([str(path)]), plan)
            self.assertEqual((notes, None), (result["notes"], result["page"]))

    def test_a_folder_may_hold_other_files(self):
        """They are named and left out; the sessions among them are compared."""
        (self.folder / "notes.md").write_text("no session")
        (self.folder / "s.jsonl").write_bytes((SAMPLES / "lesson.jsonl").read_bytes())
        status, out, err = mini_agent("compare", self.folder, "--policy", "none", "--json")
        self.assertEqual((0, ["s.jsonl"]), (status, [row["session"] for row in json.loads(out)]))
        self.assertIn("left out: ", err)
        for name in ("own_1.jsonl", "own_2.jsonl", "own_3.jsonl"):
            (self.folder / name).write_text('{"event": "start", "goal": "go"}\n')
        _, _, err = mini_agent("compare", self.folder, "--policy", "none")
        self.assertEqual(["notes.md", "own_1.jsonl and 2 more"],
                         [Path(line.split(": ")[2]).name for line in err.splitlines()])
        (self.folder / "own_4.jsonl").write_text('{"kind": "start"}\n')
        _, _, err = mini_agent("compare", self.folder, "--policy", "none")
        self.assertEqual([False, False, True], ["; known are" in line for line in err.splitlines()])
        self.assertEqual(1, err.count("gemini-cli"))
        for path in self.folder.glob("*.jsonl"):
            path.unlink()
        status, out, err = mini_agent("compare", self.folder)
        self.assertEqual((2, ""), (status, out))
        self.assertIn("there is no session in it", err)

    def test_a_broken_file_does_not_stop_the_others(self):
        """It is named, the others are compared, the exit status is 2."""
        (self.folder / "bad.jsonl").write_text("{")
        status, out, err = mini_agent("compare", SAMPLES / "lesson.jsonl",
                                      self.folder / "bad.jsonl", "--json", "--policy", "none")
        self.assertEqual((2, 1, 1), (status, len(json.loads(out)), err.count("\n")))

    def test_a_session_without_tool_calls_has_no_evidence(self):
        """Its shares are null, and it is said why."""
        path = self.folder / "talk.json"
        path.write_text(json.dumps([{"role": "user", "content": "hello"},
                                    {"role": "assistant", "content": "hello"}]))
        row = json.loads(mini_agent("compare", path, "--policy", "none", "--json")[1])[0]
        self.assertEqual((1, None, None), (row["steps"], row["recall"], row["far_recall"]))
        self.assertIn("it has no tool calls, so no evidence can be measured",
                      mini_agent("compare", path, "--policy", "none")[1])

    def test_a_session_without_a_model_call_has_no_cost(self):
        """Nothing was sent, so nothing can be relative to it."""
        path = self.folder / "question.json"
        path.write_text(json.dumps([{"role": "user", "content": "hello"}]))
        status, out, _ = mini_agent("compare", path, "--json")
        self.assertEqual((0, {(0, None, None)}), (status, {
            (row["steps"], row["cost"], row["prefix_breaks"]) for row in json.loads(out)}))
        self.assertIn("the model was never called in it", mini_agent("compare", path)[1])

    def test_a_file_that_is_still_written_is_read_up_to_its_last_whole_line(self):
        """And the cut line is told of."""
        raw = (SAMPLES / "lesson.jsonl").read_bytes()
        path = self.folder / "growing.jsonl"
        path.write_bytes(raw[:-300])
        status, out, _ = mini_agent("compare", path, "--policy", "none")
        self.assertEqual(0, status)
        self.assertRegex(out, r"note: 1 line could not be read, the first is line \d+: cut off")

    def test_a_task_file_is_run_in_a_copy_of_its_workspace(self):
        """The user's files stay as they are."""
        before = {path: path.read_bytes() for path in (ROOT / "workspace" / "m3").rglob("*")
                  if path.is_file()}
        status, out, _ = mini_agent("compare", ROOT / "scripts" / "m3_task.json", "--workspace",
                                    ROOT / "workspace" / "m3", "--policy", "published",
                                    "--window", "1200", "--json")
        rows = json.loads(out)
        self.assertEqual((0, "task file", 14), (status, rows[0]["format"], rows[0]["steps"]))
        self.assertEqual(before, {path: path.read_bytes() for path in (
            ROOT / "workspace" / "m3").rglob("*") if path.is_file()})


def _end_group(group: int) -> None:
    """Leave no process waiting, also where a test has failed."""
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


class InterruptTest(unittest.TestCase):
    """Ctrl-C keeps what is done."""

    def test_the_sessions_that_are_done_are_printed(self):
        """Exit status 130, and their rows as ever; such a share is not taken for a whole one."""
        def compare(sources, plan, jobs, progress):
            yield from run(sources[:2], plan, jobs, progress)
            raise KeyboardInterrupt

        run = run_compare.compare
        with mock.patch.object(run_compare, "compare", compare):
            status, out, err = mini_agent(*CALL, "--json")
            share = mini_agent(*CALL, "--shard", "1/1")[1]
        self.assertEqual((130, 2), (status, len({row["session"] for row in json.loads(out)})))
        self.assertIn("interrupted after 2 sessions", err)
        path = Path(self.enterContext(tempfile.TemporaryDirectory()), "1.json")
        path.write_text(share, encoding="utf-8")
        status, out, err = mini_agent("compare", "--merge", path)
        self.assertEqual((2, ""), (status, out))
        self.assertIn("this share was interrupted, it has not all of its files", err)

    def test_the_page_of_what_is_done_says_so(self):
        """And where nothing is done, the page that was there stays."""
        done = 2

        def compare(sources, plan, jobs, progress):
            yield from run(sources[:done], plan, jobs, progress)
            raise KeyboardInterrupt

        run = run_compare.compare
        page = Path(self.enterContext(tempfile.TemporaryDirectory()), "page.html")
        with mock.patch.object(run_compare, "compare", compare):
            self.assertEqual(130, mini_agent(*CALL, "--html", page)[0])
            said = page.read_text(encoding="utf-8")
            self.assertIn(", interrupted after 2 sessions", said)
            done = 0
            self.assertEqual(130, mini_agent(*CALL, "--html", page)[0])
        self.assertEqual(said, page.read_text(encoding="utf-8"))

    def test_a_real_interrupt_ends_all_processes(self):
        """One signal to a call with two jobs: JSON on standard output, status 130,
        no child left."""
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (folder / "a.jsonl").write_bytes((SAMPLES / "lesson.jsonl").read_bytes())
        os.mkfifo(folder / "b.jsonl")  # its reader waits for ever
        process = subprocess.Popen(
            [sys.executable, "-c", _WAITING, str(folder / "a.jsonl"), str(folder / "b.jsonl")],
            cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True, preexec_fn=listening)
        self.addCleanup(_end_group, process.pid)
        self.assertEqual("first is done\n", process.stderr.readline())
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does, to the children too
        out, err = process.communicate(timeout=120)
        self.assertEqual((130, "a.jsonl"), (process.returncode, json.loads(out)[0]["session"]), err)
        self.assertNotIn("Traceback", err)
        self.assertTrue(is_gone(process.pid))

    def test_no_more_processes_than_jobs_are_at_work(self):
        """A further one begins when one is done, and all come back in their order."""
        work = [processes.Job("", partial(list, [at])) for at in range(5)]
        at_work = []
        with mock.patch.object(processes, "wait", lambda running: at_work.append(
                len(running)) or wait(running)):
            self.assertEqual([[at] for at in range(5)], list(processes.side_by_side(work, 2)))
        self.assertEqual(2, max(at_work))

    def test_progress_is_in_bytes_up_to_all_of_them(self):
        """File by file, or step by step, or by the parts that the policies were split into."""
        first, second = find_sources([str(SAMPLES / "lesson.jsonl"), str(SAMPLES / "rename.json")])
        plan = compare_module.Plan(("none", "clip"), (1_800,), evidence=False)

        def told(sources, jobs):
            found = []
            list(compare_module.compare(sources, plan, jobs, found.append))
            return found
        total = first.size + second.size
        self.assertEqual([first.size, total], told([first, second], 2))
        self.assertEqual([first.size // 2, first.size, first.size], told([first], 2))
        steps = told([first, second], 1)
        self.assertEqual((sorted(steps), total, True),
                         (steps, steps[-1], {first.size, total} < set(steps)))

    def test_a_fault_beside_the_processes_is_told_as_what_it_is(self):
        """Where nobody can be shown how far it is, no process was killed."""
        def closed(done):
            raise BrokenPipeError("closed")

        sources = find_sources([str(SAMPLES / "lesson.jsonl"), str(SAMPLES / "rename.json")])
        plan = compare_module.Plan(("none",), (1_800,))
        with self.assertRaises(BrokenPipeError):
            list(compare_module.compare(sources, plan, 2, closed))

    def test_a_process_that_is_killed_is_one_line(self):
        """As by a machine without memory: no traceback, and what may help."""
        for call, room, name, dying in (
                (QUICK, compare_module, "file_results", _dies),
                (ONE_FILE, compare_module, "_replayed", _dies),
                (QUICK, processes, "_work", _dies_within_its_results)):
            with self.subTest(name), mock.patch.object(room, name, dying):
                status, out, err = mini_agent(*call, "--jobs", "2")
                self.assertEqual((2, ""), (status, out))
                self.assertIn("--jobs: a process that read sessions was killed; give fewer", err)
                self.assertEqual([], multiprocessing.active_children())

    def test_what_a_process_raises_is_one_line(self):
        """No traceback, and not called killed: the file, what happened, and what may help."""
        for call, name, raised, status, said in (
                (QUICK, "file_results", _stumbles, 1,
                 r"\Amini-agent: .+\.json\w*: KeyError in test_m6_compare\.py, line \d+: 'view'; "
                 r"this is a fault of mini-agent; --jobs 1 shows all of it\n\Z"),
                (ONE_FILE, "_replayed", _stumbles, 1, r": KeyError in "),
                (QUICK, "file_results", _refuses, 2, r"\Amini-agent: a\.json: no good; give b\n\Z"),
                (QUICK, "file_results", _breaks_a_law, 1,
                 r"\Amini-agent: .+: law 3: grown; see there\n\Z"),
                (QUICK, "file_results", _has_no_room, 1,
                 r"\Amini-agent: there is not enough memory for this\n\Z")):
            with self.subTest(raised), mock.patch.object(compare_module, name, raised):
                found, out, err = mini_agent(*call, "--jobs", "2")
                self.assertEqual((status, ""), (found, out))
                self.assertRegex(err, said)
                self.assertEqual([], multiprocessing.active_children())

    def test_an_interrupt_while_results_come_in_ends_at_once(self):
        """Half of them are in the pipe: nobody waits for the rest."""
        def press(done):
            raise KeyboardInterrupt

        first, *others = find_sources([str(SAMPLES)])
        with mock.patch.object(compare_module, "file_results", _endless):
            with self.assertRaises(KeyboardInterrupt):
                list(compare_module.compare([replace(first, name="first"), *others],
                                            compare_module.Plan((), ()), 3, press))
        self.assertEqual([], multiprocessing.active_children())


def _stumbles(*_):
    """A worker with a fault of ours."""
    return {}["view"]


def _refuses(*_):
    """A worker that finds a user's mistake."""
    raise UsageError("no good", place="a.json", remedy="give b")


def _breaks_a_law(*_):
    """A worker with an error that cannot be made again from its arguments."""
    raise LawError(3, "grown", remedy="see there")


def _has_no_room(*_):
    """A worker for which there is no memory, and which lives to tell."""
    raise MemoryError


def _dies(*_):
    """A worker that is killed."""
    os.kill(os.getpid(), signal.SIGKILL)


def _dies_within_its_results(writer, piece):
    """A worker that is killed when a part of what it says is written."""
    os.write(writer.fileno(), struct.pack("!i", 1_000) + b"x" * 10)
    os.kill(os.getpid(), signal.SIGKILL)


def _endless(source, plan):
    """The first is done at once; of the others more comes than anybody reads."""
    return [] if source.name == "first" else ["x" * (1 << 21)]


_WAITING = """
import sys
from mini_agent.lab import run_compare
from mini_agent.lab.progress import ProgressLine
from mini_agent.lab.sessions import open_sessions

class Line(ProgressLine):
    def __call__(self, done):
        print("first is done", file=sys.stderr, flush=True)

run_compare.ProgressLine = Line
from mini_agent.cli import main
if __name__ == "__main__":
    sys.exit(main(["compare", *sys.argv[1:], "--policy", "none", "--jobs", "2", "--json"]))
"""


class LimitsTest(unittest.TestCase):
    """Bounds for a build."""

    def test_what_is_over_a_bound_fails(self):
        """Exit status 1 and a sentence each; the baseline is only bound where it was asked for."""
        call = ("compare", SAMPLES / "lesson.jsonl", "--policy", "naive", "--window", "1800",
                "--fact", "只用 Python 标准库", "--json")
        self.assertEqual(0, mini_agent(*call)[0])
        for bound, sentence in (
                (("--max-peak", "1700"), "a peak of 1773 tokens is over 1700"),
                (("--fail-on", "lost-fact"), "the fact '只用 Python 标准库' is gone"),
                (("--fail-on", "lost-fact,law"), "a law was broken 1 time")):
            with self.subTest(sentence):
                status, out, err = mini_agent(*call, *bound)
                self.assertEqual((1, 2), (status, len(json.loads(out))))
                self.assertIn(f"lesson.jsonl: naive at 1800: {sentence}\n", err)
        self.assertEqual(0, mini_agent(*call, "--fail-on", "overflow")[0])
        self.assertEqual(1, mini_agent(*call, "--policy", "none", "--fail-on", "overflow")[0])
        self.assertEqual(1, mini_agent(*call, "--policy", "clip, none", "--fail-on",
                                       "law, overflow")[0])
        status, _, err = mini_agent(*call, "--policy", "naive,keep_head", "--min-recall", ".5")
        self.assertEqual((1, "mini-agent: lesson.jsonl: keep_head at 1800: far recall 0.0 is "
                          "under 0.5\n"), (status, err))

    def test_a_fact_is_lost_only_where_it_was_said(self):
        """Of a folder those sessions that do not know it keep the bound; one that none of them
        knows is told, since it would bound nothing."""
        call = ("compare", SAMPLES, "--policy", "clip", "--window", "1800", "--json",
                "--fail-on", "lost-fact", "--fact", "AssertionError")
        self.assertEqual((0, ""), mini_agent(*call)[::2])
        file = Path(self.enterContext(tempfile.TemporaryDirectory())) / "facts.txt"
        file.write_bytes(b"\xef\xbb\xbfAssertionError\r\n\r\n")  # as editors of Windows do
        self.assertEqual(mini_agent(*call), mini_agent(*call[:-1], f"@{file}"))
        self.assertEqual((1, "mini-agent: the fact 'AsertionError' was never said\n"),
                         mini_agent(*call, "--fact", "AsertionError")[::2])

    def test_a_bound_that_nothing_can_break_or_keep_is_refused(self):
        """A build that could never fail, or only fail, is a mistake: one line, before any work."""
        call = ("compare", SAMPLES / "lesson.jsonl", "--policy", "naive", "--window", "1800")
        for bound in (("--fail-on", "lost-fact"), ("--min-recall", "1.01"), ("--min-recall", "nan"),
                      ("--min-recall", "-1"), ("--max-peak", "0"), ("--fail-on", ""),
                      ("--fail-on", "law,"),
                      ("--min-recall", ".5", "--no-evidence")):
            with self.subTest(bound):
                status, out, err = mini_agent(*call, *bound)
                self.assertEqual((2, "", 1), (status, out, err.count("\n")))
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        share = folder / "1"
        share.write_text(mini_agent(*call, "--shard", "1/1")[1], encoding="utf-8")
        self.assertEqual(2, mini_agent("compare", "--merge", share, "--fail-on", "lost-fact")[0])

    def test_what_was_not_measured_breaks_no_bound(self):
        """A session without far evidence has no far recall; where none has any, it is told."""
        row = {"session": "s", "policy": "p", "window": 1, "peak_tokens": 1, "far_recall": None,
               "facts": {}, "law_breaks": 0, "over_window_steps": 0}
        bounds = Bounds(5, .9, FAILURES)
        self.assertEqual([], list(bounds.broken([row, {**row, "far_recall": .9}], ["p"])))
        self.assertEqual(["no session uses anything again from far back: there is no recall to "
                          "bound"], list(bounds.broken([row], ["p"])))
        self.assertEqual([], list(bounds.broken([], ["p"])))  # interrupted before the first

    def test_the_help_names_all_that_can_fail(self):
        """The names stand there in words, so that the parser need not import them."""
        self.assertIn(", ".join(FAILURES), " ".join(mini_agent("compare", "--help")[1].split()))


class SummaryTest(unittest.TestCase):
    """Many sessions as one row."""

    @staticmethod
    def result(far, calls=20, tokens=2_000, head=100):
        rows = [{"session": "s", "policy": policy, "window": 1_000, "far_recall": far, "steps": 10,
                 "over_window_steps": 1, "summary_tokens": 50, "sent_tokens": 500, "recall": 1.0,
                 "far_in_context": None, "fresh": .5, "lines": .25, "reach": .5, "cost": .5,
                 "summary_price": .3,
                 "prefix_breaks": 3.0, "bill": None, "law_breaks": 2} for policy in ("none", "p")]
        return {"rows": rows, "calls": calls, "tokens": tokens, "head": head}

    def test_each_session_weighs_the_same(self):
        """Means, the worst tenth; summaries at their price,
        so that they can be added to the cost."""
        row = summarise([self.result(far / 20) for far in range(20)])[1]
        self.assertEqual(
            {"policy": "p", "sessions": 20, "far_recall": .475, "worst_tenth": .025,
             "far_in_context": None, "summary_price": .3, "over_share": .1, "cost": .5,
             "law_breaks": 40},
            {key: row[key] for key in ("policy", "sessions", "far_recall", "worst_tenth",
                                       "far_in_context", "summary_price", "over_share", "cost",
                                       "law_breaks")})
        self.assertLess(row["low"], .475)
        self.assertGreater(row["high"], .475)

    def test_sessions_that_tell_nothing_are_left_out(self):
        """Under 20 calls, a history that fits, a head that fills the window."""
        for more in ({"calls": 19}, {"tokens": 1_150}, {"head": 400}):
            with self.subTest(more):
                row = summarise([self.result(.1, **more), self.result(.5)])[0]
                self.assertEqual((1, .5, None), (row["sessions"], row["far_recall"], row["low"]))

    def test_the_worst_session_is_named_and_each_is_kept_apart(self):
        """In the order of the sessions, those that do not count left out."""
        results = [self.result(.5), self.result(.1, calls=19), self.result(.2), self.result(None)]
        for name, result in zip("abcd", results):
            for row in result["rows"]:
                row["session"] = name
        row = summarise(results)[1]
        self.assertEqual(([.5, .2, None], "c"), (row["each"], row["worst_session"]))
        self.assertIsNone(summarise([self.result(None)])[0]["worst_session"])

    def test_the_interval_is_the_same_on_every_machine(self):
        """A fixed seed, and numbers of the generator that no version changes."""
        self.assertEqual((.32, .63), interval([.1, .2, .3, .4, .5, .6, .7, .8, .9, .3]))
        self.assertEqual((None, None), interval([.5]))
        self.assertIsNone(mean([None, None]))


class ProgressTest(unittest.TestCase):
    """The line on standard error."""

    def test_it_appears_on_a_terminal_after_a_while_and_goes_away(self):
        """With the time that is left at the speed so far."""
        now = [0.0]
        stream = Terminal()
        line = ProgressLine(1_000, stream, lambda: now[0])
        for seconds, done in ((1, 10), (60, 250), (60.1, 251), (180, 750)):
            now[0] = seconds
            line(done)
        line.end()
        self.assertEqual("\r 25 %, 3 min 00 s left\r 75 %, 1 min 00 s left\r" + " " * 22 + "\r",
                         stream.getvalue())

    def test_it_is_silent_in_a_file(self):
        """A log is no place for it."""
        stream = io.StringIO()
        line = ProgressLine(10, stream, iter(range(0, 100, 10)).__next__)
        line(5)
        line.end()
        self.assertEqual("", stream.getvalue())


class RealSessionsTest(unittest.TestCase):
    """Sessions of real agents."""

    def test_compare_runs_on_each(self):
        """No error, and every share is between 0 and 1."""
        if not REAL.is_dir():
            self.skipTest("SESSIONS names no folder of recorded sessions")
        status, out, _ = mini_agent("compare", REAL, "--policy", "published,whole_rounds,oracle",
                                    "--window", "8k", "--json")
        rows = json.loads(out)
        self.assertEqual(0, status)
        self.assertGreater(len({row["session"] for row in rows}), 30)
        for row in rows:
            for key in ("far_recall", "far_in_context", "recall", "fresh", "lines", "reach"):
                self.assertTrue(row[key] is None or 0 <= row[key] <= 1, row)
            self.assertEqual(0, row["law_breaks"])


if __name__ == "__main__":
    unittest.main()
