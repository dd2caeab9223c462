"""The READMEs are part of the product: their numbers and their commands are tested.

English and Chinese have the same sections with the same code, commands and numbers,
so what holds for one holds for both.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
import unittest
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from statistics import fmean

from mini_agent import audit, cli
from mini_agent.chat.narrator import Narrator
from mini_agent.chat.permission import FREE
from mini_agent.compression.catalogue import DEFAULT_POLICY
from mini_agent.compression.pins import KINDS, SHARE, Pin, Pins, marks
from mini_agent.compression.state import WindowState
from mini_agent.course import Course
from mini_agent.evidence import FAR
from mini_agent.lab.measures import CACHED
from mini_agent.lab.sessions import open_sessions
from mini_agent.lab.summary import MIN_CALLS
from mini_agent.messages import pairing_faults, result_positions
from mini_agent.models.base import ANSWER_SHARE, LONGEST_ANSWER
from mini_agent.rhythm import all_compressions, rows
from mini_agent.tools.shell import SECRETS
from mini_agent.trace import EVENTS, read_trace
from tests.fake_server import FakeServer, plain
from tests.fuzz import HISTORIES, names
from tests.sources import modules, nodes_of, tree_of
from tests.support import ROOT, FolderTest, command, scripted
from tests.test_m3_estimate import ESTIMATOR_OF, errors, samples
from tests.test_m3_session import EDITED, PUBLISHED, COMPRESSIONS, SUMMARY

README = (ROOT / "README.md").read_text(encoding="utf-8")
CHINESE = (ROOT / "README.zh-CN.md").read_text(encoding="utf-8")

GENERATED = re.compile(r"<!-- begin: ([^\n]+) -->\n(.*?)<!-- end -->", re.DOTALL)
NUMBER = re.compile(r"\d+(?:\.\d+)?")
CODE = re.compile(r"`([^`\n]+)`")
COMMAND = re.compile(r"^    python3 ((?:-m mini_agent|scripts/).*)$", re.MULTILINE)
LIVE = re.compile(r"<!-- live: [^\n]* -->\n(.*?)<!-- end of live -->", re.DOTALL)


def sections(text: str) -> list[str]:
    """The text from one head to the next."""
    return re.split(r"^#+ .*\n", text, flags=re.MULTILINE)


def prose(text: str) -> str:
    """A text without code, generated blocks and counts, and addresses, on one line."""
    text = re.sub(r"<!-- lines of [^>]*-->\d+", "", GENERATED.sub("", text))
    text = re.sub(r"^    .*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"\]\([^)]*\)|<!--.*?-->", "", CODE.sub("", text))
    return " ".join(text.split())


@cache
def claims() -> tuple[str, ...]:
    """Every passage of the README with a number in it, made from what is counted."""
    return (*session_claims(), *threshold_claims(), *other_claims())


def session_claims() -> Iterator[str]:
    """Calls, last requests, share, compressions, and messages before and after the summary."""
    trace = read_trace(ROOT / "traces" / "reference" / "m3-trace.jsonl")
    table = rows(trace.records)
    calls = [len(list(trace.events(name))) for name in ("model_call", "tool_call")]
    yield "{} model calls and {} tool calls".format(*calls)
    last, bare = table[-1].sent, PUBLISHED[-1][1]
    yield (f"the last request has {bare} tokens; with a threshold of 1200 it has {last}, "
           f"which is {100 * (1 - last / bare):.2f} % less")
    summary, = (change for change in all_compressions(table) if change.strategy == SUMMARY)
    yield f"In {len(COMPRESSIONS) - 1} steps long tool results"
    yield "in 1 step old messages"
    yield f"from {summary.before_messages} messages to {summary.after_messages}"


def threshold_claims() -> Iterator[str]:
    """The rows of "Watch the rhythm"; `EDITED` is held by the tests of the session."""
    said = {5000: "aging in {} steps, no summary",
            1300: "aging in {} steps, one summary at step {}",
            1150: "two summaries, at steps {1} and {2}"}
    for threshold, words in said.items():
        aging, summary, *_ = EDITED[threshold]
        yield f"| {threshold} | {words.format(len(aging), *summary)}"
    yield "| 1200 | aging in 8 steps, one summary at step 9 |"
    if EDITED[900][3] is None:
        yield "| 900 | at step 13 there are 939 tokens that nobody may move"


def other_claims() -> Iterator[str]:
    """Definitions, laws, estimator, modes and statuses."""
    yield f"had last been seen more than {FAR} messages before"
    if CACHED == .1:
        yield "costs a tenth"
    yield "1 is pairing (no result without its call), 4 is protection"
    everything = samples()
    worst = max(fmean(map(abs, errors(everything, family))) for family in ESTIMATOR_OF)
    if worst < 10 and len(ESTIMATOR_OF) == 5:
        yield "less than 10 % in the mean for five tokenizers"
    if ANSWER_SHARE == 5:
        yield f"a fifth of it, at most {LONGEST_ANSWER} tokens, stays free"
    yield "mode 0700"
    yield f"outgrow the window and have {MIN_CALLS} calls or more"
    yield f"Pins take at most {SHARE} % of the window together"
    yield f"{len(names())} names x {HISTORIES:,} random sessions"
    yield (f"Exit status: {cli.DONE} done, {cli.FAILED} the task failed or a bound was broken, "
           f"{cli.WRONG_USE} wrong use, {cli.INTERRUPTED} interrupted")
    yield "Python 3.11 or newer"


class ReadmeTest(unittest.TestCase):
    """Each number of README.md."""

    maxDiff = None

    def test_what_comes_from_the_program_is_up_to_date(self) -> None:
        """`scripts/refresh_readme.py --check` finds nothing out of date."""
        done = command("scripts/refresh_readme.py", "--check")
        self.assertEqual((0, "up to date\n"), (done.returncode, done.stdout), done.stderr)

    def test_each_claim_with_a_number_is_what_is_counted(self) -> None:
        """The passage stands there word for word."""
        text = prose(README)
        for claim in claims():
            self.assertIn(claim, text)

    def test_no_number_stands_outside_a_claim(self) -> None:
        """What is left are the numbers of milestones, days and steps in a lesson."""
        text = prose(re.sub(r"(?ms)^### .*?(?=^## )", "", README))
        for claim in claims():
            text = text.replace(claim, "")
        text = re.sub(r"\| \d: |milestones? \d( and \d)?", "", text)
        self.assertEqual([], [text[max(0, at.start() - 60):at.end() + 20]
                              for at in NUMBER.finditer(text)])

    def test_the_rows_shown_are_rows_of_the_program(self) -> None:
        """The table's lines stand to the letter in what `make run-m3` prints."""
        shown = re.search(r"rows 7 to 10 of make run-m3 -->\n```\n(.*?)```", README, re.S)[1]
        printed = scripted("drive_m3", "--traces", self.enterContext(_folder())).stdout
        for line in shown.splitlines():
            self.assertIn(line + "\n", printed)

    def test_every_make_target_of_the_readme_is_in_the_makefile(self) -> None:
        """No target is promised that is not there."""
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        for target in set(re.findall(r"make ([a-z][a-z0-9-]*)", "\n".join(
                [*re.findall("^    .*$", README, re.M), *CODE.findall(README)]))):
            self.assertRegex(makefile, rf"(?m)^{target}:")

    def test_every_file_and_picture_that_is_named_is_there(self) -> None:
        """Links, pictures, and paths in code; the pictures of the page are small."""
        for text in (README, CHINESE):
            named = re.findall(r"\]\(([^)#]+)\)", text) + [
                code for code in CODE.findall(text)
                if re.fullmatch(r"(mini_agent|scripts|tests|traces/reference|workspace)/[\w./-]+",
                                code)]
            for path in named:
                self.assertTrue((ROOT / path).exists(), path)
        self.assertLess((ROOT / "traces" / "reference" / "page.png").stat().st_size, 200_000)

    def test_a_link_inside_leads_to_a_head(self) -> None:
        """Each `#...` is the head that a reader of Markdown makes of it."""
        for text in (README, CHINESE):
            heads = {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-")
                     for head in re.findall(r"^#+ (.*)$", text, re.M)}
            for target in re.findall(r"\]\(#([^)]+)\)", text):
                self.assertIn(target, heads)

    def test_the_first_picture_stands_within_twenty_lines(self) -> None:
        """A newcomer sees what it is about before reading about it."""
        for text in (README, CHINESE):
            self.assertIn("m3-curve.svg", "\n".join(text.splitlines()[:20]))

    def test_what_is_said_of_permission_and_environment_is_so(self) -> None:
        """The names of variables that commands do not get; what is free only reads."""
        told = re.search("variables with ([A-Z, or]+) in their name", " ".join(README.split()))[1]
        self.assertEqual(list(SECRETS), re.findall("[A-Z]+", told))
        self.assertFalse({"write_file", "edit_file", "run_command"} & set(FREE))
        self.assertEqual("digest", DEFAULT_POLICY)

    def test_what_is_said_of_pins_is_so(self) -> None:
        """The mark and the entry of a task file are one pin; the kinds are those that there are."""
        pin = Pin(1, "Never touch config/prod.yaml.", "constraint", "config/**")
        mark, entry = re.findall(r"^    (<pin .*|\"pins\": .*)$", README, re.M)
        self.assertEqual([(pin, "")], list(marks(1, {"role": "user", "content": mark})))
        self.assertEqual([], list(marks(1, {"role": "tool", "content": mark})))
        self.assertEqual([pin], [Pin(1, **one) for one in json.loads("{%s}" % entry)["pins"]])
        told, = re.findall(r"`kind` is (.*?); `protect`", " ".join(README.split()))
        self.assertEqual(list(KINDS), CODE.findall(told))
        self.assertIn("assumption, NOT verified", Pins().line(replace(pin, kind="assumption")))


    def test_a_log_of_the_form_that_is_shown_can_be_read(self) -> None:
        """Two lines of it are a call with its result."""
        lines = re.findall(r"^    (\{\"role\": .*)$", README, re.M)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "own.jsonl")
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
            session, = open_sessions(str(path))
        first, second = session.messages
        self.assertEqual(([], [0]), (list(pairing_faults(session.messages)),
                                     result_positions(first, [second])))
        self.assertEqual({"path": "a.py"}, first["tool_calls"][0]["arguments"])
        self.assertEqual("what the file says", second["content"])


class ChangelogTest(unittest.TestCase):
    """CHANGELOG.md."""

    def test_it_speaks_of_this_version_and_of_what_is_there(self) -> None:
        """The newest head is the version; commands and targets are those of the program."""
        text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        self.assertEqual(project["version"], re.search(r"^## (\S+)", text, re.M)[1])
        tables = dict(GENERATED.findall(README))
        there = re.findall(r"^\| `([^`]+)`",
                           tables["the commands"] + tables["the make targets"], re.M)
        for code in CODE.findall(text):
            self.assertIn(code, there)


class TranslationTest(unittest.TestCase):
    """README.zh-CN.md says the same."""

    maxDiff = None

    def test_both_have_the_same_sections_code_and_numbers(self) -> None:
        """Section by section: commands, code and numbers outside generated tables."""
        english, chinese = sections(README), sections(CHINESE)
        self.assertEqual(len(english), len(chinese))
        for ours, theirs in zip(english, chinese):
            with self.subTest(theirs[:30]):
                self.assertEqual(re.findall(r"^    .*$", ours, re.M),
                                 re.findall(r"^    .*$", theirs, re.M))
                self.assertEqual(GENERATED.findall(ours) and [name for name, _ in
                                                              GENERATED.findall(ours)],
                                 [name for name, _ in GENERATED.findall(theirs)])
                for what in (CODE, NUMBER):
                    self.assertEqual(sorted(what.findall(_outside(ours))),
                                     sorted(what.findall(_outside(theirs))))

    def test_all_that_the_program_says_of_itself_is_translated(self) -> None:
        """`scripts/readme_zh.json` knows each policy, command and target."""
        words = json.loads((ROOT / "scripts" / "readme_zh.json").read_text(encoding="utf-8"))
        tables = dict(GENERATED.findall(README))
        for name, keys, head in (("the policies", ("policies", "sources"), ""),
                                 ("the commands", ("commands",), ""),
                                 ("the make targets", ("targets",), "make ")):
            there = re.findall(rf"^\| `{head}([^`]+)`", tables[name], re.M)
            self.assertGreater(len(there), 9)
            for key in keys:
                self.assertEqual([], [one for one in there if one not in words[key]], key)

    def test_chinese_prose_is_set_as_chinese(self) -> None:
        """Punctuation is full-width, ends a line (a break is shown as a space),
        and closes no emphasis."""
        text = re.sub(r"(?ms)^```\n.*?^```$|<!--.*?-->|^    [^\n]*$", "", CHINESE)
        text = CODE.sub("x", re.sub(r"\]\([^)]*\)", "", text))
        for wrong in (r"[\u4e00-\u9fff][,;:?!()]", r"[,;:?!()][\u4e00-\u9fff]", r"\d %",
                      r"[\w*]\n *[\u4e00-\u9fffx]"):
            self.assertEqual([], re.findall(f".*{wrong}.*", text))
        self.assertEqual([], re.findall(r"\*[^*\n]*[^\w*]\*(?=\w)",
                                        re.sub(r"\*([^*\n]*\w)\*", r"\1", text)))

    def test_a_table_of_the_program_has_the_same_rows(self) -> None:
        """Names of policies, commands and targets, and all output of commands."""
        for (name, ours), (_, theirs) in zip(
                GENERATED.findall(README), GENERATED.findall(CHINESE), strict=True):
            with self.subTest(name):
                self.assertEqual(*(re.findall(r"^\|[^`\n]*`([^`]+)`", text, re.M) if "|---|" in text
                                   else text for text in (ours, theirs)))


def _outside(text: str) -> str:
    """A section without its generated blocks and the addresses of links."""
    return re.sub(r"\]\([^)]*\)", "", GENERATED.sub("", text))


class CommandsTest(FolderTest):
    """Each command of README.md is run."""

    def words_here(self, line: str) -> list[str]:
        """The words of a command, with traces/ and build/ in the folder of the test."""
        return [re.sub(r"\b(traces|build)/(?!reference)", f"{self.folder}/", word)
                for word in shlex.split(line)]

    def test_every_command_of_the_readme_runs(self) -> None:
        """Each `python3` line exits with 0; traces/ and build/ are another folder here."""
        (self.folder / "m3-trace.jsonl").write_bytes(
            (ROOT / "traces" / "reference" / "m3-trace.jsonl").read_bytes())
        shutil.copytree(ROOT / "workspace" / "m3", self.folder / "m3")
        lines = COMMAND.findall(LIVE.sub("", README))
        self.assertTrue(lines)
        for line in lines:
            with self.subTest(line), contextlib.chdir(ROOT):
                words = self.words_here(line)
                if words[0] != "-m":
                    done = scripted(Path(words[0]).stem, *words[1:], "--traces", self.folder)
                    self.assertEqual(0, done.returncode, done.stderr)
                    continue
                with contextlib.redirect_stdout(io.StringIO()):
                    self.assertEqual(0, cli.main(words[2:]))

    def test_the_example_of_every_command_runs(self) -> None:
        """As --help shows it; those that need a model are only parsed."""
        (self.folder / "m3-trace.jsonl").write_bytes(
            (ROOT / "traces" / "reference" / "m3-trace.jsonl").read_bytes())
        table = dict(GENERATED.findall(README))["the commands"]
        lines = re.findall(r"`mini-agent (.*)` \|$", table, re.M)
        self.assertEqual(table.count("\n") - 2, len(lines))
        for line in lines:
            words = self.words_here(line)
            with self.subTest(line), contextlib.chdir(ROOT), \
                    contextlib.redirect_stdout(io.StringIO()):
                if words[0] in ("chat", "resume"):
                    cli.make_parser().parse_args(words)
                else:
                    self.assertEqual(0, cli.main(words))

    def test_every_line_of_live_use_runs_against_a_server(self) -> None:
        """The variables are those of the README; the address is the test server's."""
        live = LIVE.search(README)[1]
        export = re.search(r"^    export (.*)$", live, re.M)[1]
        variables = dict(word.split("=") for word in shlex.split(export))
        said = plain({"choices": [{"message": {"role": "assistant", "content": "An entry."},
                                   "finish_reason": "stop"}]})
        lines = COMMAND.findall(live)
        with FakeServer(*[said] * len(lines)) as server:
            variables["OPENAI_BASE_URL"] = f"{server.url}/v1"
            for line in lines:
                words = self.words_here(line)
                done = subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True,
                                      encoding="utf-8", input="What is left?\n/quit\n", timeout=300,
                                      env=_environment(self.folder, **variables))
                self.assertEqual(0, done.returncode, done.stderr)
                self.assertIn("An entry.", done.stdout)
            self.assertEqual(["local"] * len(lines),
                             [sent.body["model"] for sent in server.requests])

    def test_sessions_are_kept_where_nobody_else_may_look(self) -> None:
        """Without --trace: XDG_STATE_HOME/mini-agent/sessions, mode 0700."""
        done = command("-m", "mini_agent", "chat", "What is left?", "--script",
                       "scripts/m1_task.json", "--workspace", "workspace/m1",
                       XDG_STATE_HOME=str(self.folder))
        self.assertEqual(0, done.returncode, done.stderr)
        kept, = (self.folder / "mini-agent" / "sessions").glob("*.jsonl")
        self.assertEqual(0o700, kept.parent.stat().st_mode & 0o777)


def _environment(home: Path, **more: str) -> dict[str, str]:
    """The variables of a user who has set nothing else."""
    return {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONIOENCODING": "utf-8", **more}
def _folder():  # noqa: ANN202 - a context manager that gives a path as text
    return tempfile.TemporaryDirectory(prefix="mini-agent-test-")


class HouseTest(unittest.TestCase):
    """What the README promises of the code: small files, small functions, no packages."""

    def test_no_module_has_over_250_lines_and_no_function_over_60(self) -> None:
        """The house rule, over every module of the package."""
        for path in modules("mini_agent"):
            text = path.read_text(encoding="utf-8")
            with self.subTest(str(path.relative_to(ROOT))):
                self.assertLessEqual(text.count("\n"), 250)
                for node in nodes_of(path):
                    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                        self.assertLessEqual(node.end_lineno - node.lineno + 1, 60, node.name)

    def test_no_line_has_over_100_characters(self) -> None:
        """Of package, scripts and tests; but for those inside of a verbose regular expression,
        where a line is an alternative."""
        for path in modules("mini_agent", "scripts", "tests"):
            text = path.read_text(encoding="utf-8")
            long = {number for number, line in enumerate(text.split("\n"), 1)
                    if len(line) > 100}
            free = {line for node in (nodes_of(path) if long else ())
                    if isinstance(node, ast.Call) and node.end_lineno > node.lineno
                    and re.match(r"re\.compile\(.*re\.VERBOSE", ast.unparse(node))
                    for line in range(node.lineno + 1, node.end_lineno)}
            self.assertEqual(set(), long - free, path)

    def test_whatever_is_public_says_what_it_is(self) -> None:
        """A docstring for each module, class, function and method without `_` in front."""

        def silent(node: ast.AST) -> Iterator[str]:
            for part in ast.iter_child_nodes(node):
                if (isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
                        and not part.name.startswith("_")):
                    if not ast.get_docstring(part):
                        yield part.name
                    if isinstance(part, ast.ClassDef):
                        yield from silent(part)

        for path in modules("mini_agent"):
            tree = tree_of(path)
            with self.subTest(str(path.relative_to(ROOT))):
                self.assertTrue(ast.get_docstring(tree))
                self.assertEqual([], list(silent(tree)))

    def test_each_file_of_the_reading_path_says_what_it_leaves_out(self) -> None:
        """The README promises it of each."""
        text = (ROOT / "README.md").read_text(encoding="utf-8")
        path = text.partition("<!-- begin: the reading path -->")[2].partition("<!-- end -->")[0]
        files = re.findall(r"`(mini_agent/[\w/]+\.py)`", path)
        self.assertGreater(len(files), 30)
        for file in files:
            tree = tree_of(ROOT / file)
            self.assertRegex(ast.get_docstring(tree) or "",
                             r"(?i)\b(left|leaves)\s+out\b", file)

    def test_each_annotation_names_something(self) -> None:
        """They are not evaluated, so nothing else would find a name that has gone."""
        for path in modules("mini_agent"):
            nodes = nodes_of(path)
            known = {*vars(builtins), *(
                (alias.asname or alias.name).partition(".")[0] for node in nodes
                if isinstance(node, (ast.Import, ast.ImportFrom)) for alias in node.names), *(
                node.name for node in nodes if isinstance(node, (ast.ClassDef, ast.FunctionDef))),
                *(node.id for node in nodes if isinstance(node, ast.Name)
                  and isinstance(node.ctx, ast.Store))}
            said = {name.id for node in nodes for kind in ("annotation", "returns")
                    for told in [getattr(node, kind, None)] if told
                    for name in ast.walk(told)
                    if isinstance(name, ast.Name)}
            self.assertEqual(set(), said - known, path)

    def test_each_class_and_function_has_a_name_of_its_own(self) -> None:
        """Of those that other modules may use: a name says which one is meant. Only what is
        the same thing in two places is called the same."""
        found: dict[str, list[str]] = {}
        for path in modules("mini_agent"):
            for node in tree_of(path).body:
                if (isinstance(node, (ast.ClassDef, ast.FunctionDef))
                        and not node.name.startswith("_")):
                    found.setdefault(node.name, []).append(path.name)
        self.assertEqual({
            "add_commands": ["commands.py"] * 3, "main": ["cli.py", "child.py"],
            "run": ["__main__.py", "run_compare.py"],
            "usage": ["anthropic.py", "openai.py"],
        }, {name: places for name, places in found.items() if len(places) > 1})

    def test_no_module_remembers_anything(self) -> None:
        """No `global`, and no cache of a function: what is kept belongs to an object."""
        for path in modules("mini_agent"):
            tree = tree_of(path)
            kept = [ast.unparse(how) for node in tree.body if isinstance(node, ast.FunctionDef)
                    for how in node.decorator_list if "cache" in ast.unparse(how)]
            kept += [ast.unparse(node) for node in nodes_of(path) if isinstance(node, ast.Global)]
            self.assertEqual([], kept, path)

    def test_each_test_says_its_rule(self) -> None:
        """A name that states it, and a sentence."""
        for path in sorted((ROOT / "tests").glob("test_*.py")):
            for node in nodes_of(path):
                if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                    self.assertTrue(ast.get_docstring(node), f"{path.name}: {node.name}")

    def test_the_loop_fits_on_two_screens(self) -> None:
        """120 lines, so that a learner sees it whole."""
        text = (ROOT / "mini_agent" / "loop.py").read_text(encoding="utf-8")
        self.assertLessEqual(text.count("\n"), 120)

    def test_no_file_holds_the_marks_of_a_conflict(self) -> None:
        """What a merge left unsettled is never committed, in code, data or documents."""
        done = subprocess.run(["git", "grep", "-lE", "^(<{7}|>{7}) "], cwd=ROOT,
                              capture_output=True, encoding="utf-8")
        self.assertEqual("", done.stdout)

    def test_only_the_standard_library_is_imported(self) -> None:
        """Package, scripts and tests name no other module."""
        own = {"mini_agent", "tests", "scripts", *(p.stem for p in (ROOT / "scripts").glob("*.py"))}
        for path in modules("mini_agent", "scripts", "tests"):
            for node in nodes_of(path):
                names = ([alias.name for alias in node.names] if isinstance(node, ast.Import)
                         else [node.module] if isinstance(node, ast.ImportFrom)
                         and not node.level else [])
                for name in names:
                    root = name.split(".")[0]
                    self.assertTrue(root in sys.stdlib_module_names or root in own,
                                    f"{path}: {name}")

    def test_each_handler_of_records_is_of_an_event_that_there_is(self) -> None:
        """They are found by their names: a mistyped one would never be called."""
        for room in (Narrator, WindowState, audit._Audit, Course):
            names = {name for name in vars(room) if name.startswith("_on_")}
            self.assertTrue(names)
            self.assertLessEqual(names, {f"_on_{event}" for event in EVENTS}, room)

    def test_each_event_that_is_looked_for_is_one_that_there_is(self) -> None:
        """Where a record's event is compared with a name, in package and scripts."""
        found: set[str] = set()
        for path in modules("mini_agent", "scripts"):
            for node in nodes_of(path):
                named = [node.left, *node.comparators] if isinstance(node, ast.Compare) else \
                    [node.func, *node.args] if isinstance(node, ast.Call) else []
                if named and re.search(r"""record(\[|\.get\()'event'[])]$|\.events$""",
                                       ast.unparse(named[0])):
                    found |= {part.value for one in named[1:] for part in ast.walk(one)
                              if isinstance(part, ast.Constant)}
        self.assertGreater(len(found), 8)
        self.assertLessEqual(found, set(EVENTS))

    def test_imports_only_point_down_the_floors(self) -> None:
        """No room imports from a floor above its own; M1 is readable without M3."""
        rooms = (("columns", "counts", "data_uris", "disk", "drawing", "errorlines", "errors",
                  "finder", "forms", "hostile", "interrupts", "json_length", "messages",
                  "strict_json", "texts", "tokens", "words"),
                 ("actions", "extract", "json_files", "lint", "models", "prompts", "tools",
                  "trace"),
                 ("asking", "compression", "evidence", "held", "meter", "rhythm", "tasks",
                  "waiting"),
                 ("governance", "loop"),
                 ("assembly", "audit", "chat", "course", "runner", "session", "subagents",
                  "subcommands"), ("lab",),
                 ("__init__", "__main__", "cli", "commands", "embedded", "live"))
        floors = {room: floor for floor, names in enumerate(rooms) for room in names}
        for path in modules("mini_agent"):
            parts = path.relative_to(ROOT / "mini_agent").with_suffix("").parts
            self.assertIn(parts[0], floors)
            for node in nodes_of(path):
                if not isinstance(node, ast.ImportFrom) or not node.level:
                    continue
                package = parts[:len(parts) - node.level]
                full = (*package, *(node.module or "").split("."))
                targets = [full[0]] if full[0] else [alias.name for alias in node.names]
                for target in targets:
                    self.assertLessEqual(floors[target], floors[parts[0]],
                                         f"{'/'.join(parts)} imports {target}")

    def test_no_modules_import_each_other_in_a_circle(self) -> None:
        """Each can be read behind those that it needs; imports of types alone count, too."""
        paths = {path.relative_to(ROOT).with_suffix("").parts: path
                 for path in modules("mini_agent")}
        needs: dict[str, set[str]] = {}
        for parts, path in paths.items():
            found = needs.setdefault("/".join(parts), set())
            for node in nodes_of(path):
                if isinstance(node, ast.ImportFrom) and node.level:
                    base = (*parts[:len(parts) - node.level],
                            *(node.module.split(".") if node.module else ()))
                    places = [(*base, alias.name) for alias in node.names]
                    found |= {"/".join(place if place in paths else
                                       base if base in paths else (*base, "__init__"))
                              for place in places}
        self.assertGreater(sum(map(len, needs.values())), 500)
        TopologicalSorter(needs).prepare()  # raises CycleError, which names the circle


if __name__ == "__main__":
    unittest.main()
