"""Milestone 3: a summary that is kept up with a session equals one made anew."""

from __future__ import annotations

import random
import unittest
from collections.abc import Iterator, Sequence

from mini_agent.compression.chronicle import Chronicle, Work
from mini_agent.compression.index import HistoryIndex
from mini_agent.compression.parts import Parts
from mini_agent.compression.policies import find_policy
from mini_agent.compression.resources import Resources
from mini_agent.compression.sections import SectionLines, Sections, bound, parse, render
from mini_agent.compression.segments import Segment, Segments
from mini_agent.compression.state import WindowState
from mini_agent.compression.store import MemoryStore
from mini_agent.compression.summariser import Summariser
from mini_agent.compression.summary_text import SummaryText
from mini_agent.compression.verify import FINDERS, Support, unsupported
from mini_agent.compression.window import ContextWindow
from mini_agent.forms import FORMS, own_lines
from mini_agent.governance import governed_by
from mini_agent.messages import Message, assistant, call, system, tool_result, user
from mini_agent.models.scripted import ScriptedModel
from mini_agent.texts import LANGUAGES, Texts
from mini_agent.tokens import estimator
from mini_agent.trace import Record, Tracer
from tests.histories import random_messages
from tests.support import payloads
from tests.test_m3_digest_index import facts

NONE = "- none"
HEADS = ("## A", "## B", "## Files", "## 目标")
LINES = ("read src/app.py", "port 8080 is taken", '"quoted words" here', "", NONE, "x" * 90,
         "ghost.py:12 says `no such thing`", "第三行没有什么内容", "done", "20 messages")
WINDOW = 4_000
SUMMARISING = ("published", "segmented", "stages", "two_layer", "tail_summary", "handoff_note",
               "handoff_form", "context_reset", "tiers_50_70_90", "layered")


def random_text(rng: random.Random) -> str:
    """A text of a part: some sections, sometimes lines before the first one."""
    out = [rng.choice(LINES) for _ in range(rng.choice((0, 0, 2)))]
    for head in rng.sample(HEADS, rng.randint(1, len(HEADS))):
        out += [head, *(rng.choice(LINES) for _ in range(rng.randint(0, 5)))]
    return "\n".join(out)


def plain_merger(texts: Sequence[str]) -> str:
    """One text of several that begin with a heading, section by section."""
    merged: Sections = {}
    for text in texts:
        for head, body in parse(text).items():
            merged.setdefault(head, []).extend(body)
    return render({head: [line for line in body if line != NONE] or [NONE] if NONE in body else body
                   for head, body in merged.items()})


class SummaryTextTest(unittest.TestCase):
    """Parts that come and go, against all parts put together."""

    def test_it_is_the_merger_of_its_parts_whatever_it_was_before(self) -> None:
        """Text, length and doubts, after each of 300 random turns."""
        rng = random.Random(4)
        history = list(random_messages(random.Random(7)))
        summary = SummaryText(NONE)
        parts: list[tuple[tuple[int, ...], str]] = []
        for _ in range(300):
            del parts[max(0, len(parts) - rng.choice((0, 0, 1, 1, 3, 20))):]
            for _ in range(rng.randint(1, 3)):
                start = rng.randrange(len(history) - 2)
                parts.append((tuple(range(start, start + 2)), random_text(rng)))
            summary.become(parts)
            anew = SummaryText(NONE).become(parts)
            self.assertEqual(summary.text(), anew.text())
            self.assertEqual(len(summary.text()), summary.chars())
            self.assertEqual(list(summary.sections()), list(anew.sections()))
            self.assertEqual(list(summary.doubtful(history, "## B")),
                             list(anew.doubtful(history, "## B")))
            if all(text.startswith("## ") for _, text in parts):
                self.assertEqual(summary.text(), plain_merger([text for _, text in parts]))

    def test_what_stands_before_the_first_heading_of_any_part_stays_there(self) -> None:
        """It is not put under the last heading of the part before."""
        summary = SummaryText(NONE).become([((0,), "## A\n1"), ((1,), "free words\n## A\n2")])
        self.assertEqual("free words\n## A\n1\n2", summary.text())

    def test_only_what_its_own_part_does_not_say_is_doubted(self) -> None:
        """Words before numbers before quotes, headings among them, a section left out."""
        history = [user("src/a.py has 1234 lines"), user("src/b.py")]
        summary = SummaryText(NONE).become([
            ((0,), "## A_1\n- 'src/a.py', src/b.py, 77\n## B\n- `out of it`"),
            ((1,), "## A_1\n- src/b.py and src/c.py, \"a word\"")])
        self.assertEqual(["A_1", "src/b.py", "src/c.py", "77", "a word"],
                         list(summary.doubtful(history, "## B")))

    def test_what_the_harness_words_is_no_invention_in_any_language(self) -> None:
        """Headings and set phrases of every form; what a model writes under them is looked at."""
        history = list(life(6))
        for language in LANGUAGES:
            texts = Texts(language)
            for form in FORMS:
                with self.subTest(language=language, form=form):
                    made = Summariser(ScriptedModel([], (), texts), history, texts)
                    names = made.gather(range(len(history)), form).doubtful(history, "")
                    self.assertEqual([], Support(history).unsupported(names, range(len(history))))
        own = own_lines(Texts("zh"))
        summary = SummaryText.of(
            "## 关键决定\n- 从未提到过\n### 关键决定\n## 另外一个标题", own=own)
        self.assertEqual(["从未提到过", "另外一个标题"], list(summary.doubtful((), "")))

    def test_bounding_is_the_plain_search(self) -> None:
        """Lines go one by one until it fits: what is skipped would have gone in any case."""
        rng = random.Random(5)
        for name in ("runs", "chars4", "published"):
            count = estimator(name).text
            for _ in range(60):
                sections: Sections = {head: [rng.choice(LINES) + str(rng.randrange(999))
                                             for _ in range(rng.choice((0, 1, 4, 60)))]
                                      for head in HEADS}
                limit = rng.choice((100, 200, 900))
                self.assertEqual(self.plainly(sections, limit, count),
                                 bound(sections, limit, count, lambda gone: f"({gone} left out)"))

    def plainly(self, sections: Sections, limit: int, count) -> Sections:
        left = {head: list(body) for head, body in sections.items()}
        gone = dict.fromkeys(left, 0)
        note = count(f"({max(map(len, sections.values()))} left out)") + 1
        while True:
            made = {head: [f"({gone[head]} left out)", *body] if gone[head] else body
                    for head, body in left.items()}
            sizes = {head: sum(count(line) + 1 for line in left[head]) for head in left}
            largest = max(left, key=sizes.__getitem__)
            all_of_it = sum(count(head) + 1 + sizes[head] + note * (gone[head] > 0)
                            for head in left)
            if all_of_it <= limit or not left[largest]:
                self.assertTrue(count(render(made)) <= limit or not left[largest])
                return made
            line = left[largest].pop(0)
            whole = line.rstrip("…")
            half = whole[:len(whole) // 2]
            if not left[largest] and half and len(half) + 1 < len(line):
                left[largest] = [half + "…"]
            else:
                gone[largest] += 1

    def test_each_line_is_counted_once(self) -> None:
        """Lines that grow and lose their end ask for new lines only."""
        counted: list[str] = []
        lines = SectionLines(["a", "b"])

        def count(line: str) -> int:
            counted.append(line)
            return len(line)

        self.assertEqual([2, 4], lines.ends(count))
        lines.extend(["cc"])
        self.assertEqual([2, 4, 7], lines.ends(count))
        lines.shorten(1)
        lines.extend(["d"])
        self.assertEqual([2, 4], lines.ends(count))
        self.assertEqual(["a", "b", "cc", "d"], counted)
        self.assertEqual(4, lines.chars)


class InterruptTest(unittest.TestCase):
    """Law 8: what is interrupted half-way leaves no trace in what is known."""

    def test_what_was_interrupted_is_made_anew(self) -> None:
        """At any message or part, in every cache: the next time it equals a fresh one."""
        history = list(life(12))
        for at in range(1, len(history), 3):
            broken = Broken(history, at)
            for make in (HistoryIndex, Chronicle, lambda told: Work(Chronicle(told))):
                grown = make(broken)
                broken.armed = True
                with self.assertRaises(KeyboardInterrupt):
                    grown.grow()
                broken.armed = False
                fresh = make(history)
                fresh.grow()
                self.assertEqual(facts(fresh), facts(grown.grow()))
            support = Support(broken)
            broken.armed = True
            with self.assertRaises(KeyboardInterrupt):
                support.unsupported(["12", "4711"], range(len(history)))
            broken.armed = False
            self.assertEqual(Support(history).unsupported(["3", "41", "4711"], range(9)),
                             support.unsupported(["3", "41", "4711"], range(9)))

    def test_a_text_and_parts_that_were_interrupted_equal_new_ones(self) -> None:
        """Also where the next one is the same that broke off."""
        class Breaking(SummaryText):
            """Is interrupted at its third part, once."""

            left = 3

            def _add(self, part) -> None:
                self.left -= 1
                super()._add(part)
                if not self.left:
                    raise KeyboardInterrupt

        parts = [((at,), f"## A\n{at}\n{NONE}") for at in range(5)]
        summary = Breaking(NONE)
        with self.assertRaises(KeyboardInterrupt):
            summary.become(parts)
        self.assertEqual(SummaryText(NONE).become(parts).text(), summary.become(parts).text())
        history = Broken([user("z" * 50) for _ in range(30)], 20)
        cut = Parts(history)
        cut.cut(range(15), 100)
        history.armed = True
        with self.assertRaises(KeyboardInterrupt):
            cut.cut(range(30), 100)
        history.armed = False
        self.assertEqual(Parts(history).cut(range(30), 100), cut.cut(range(30), 100))


class Broken(list):
    """A history at whose message `at` the user presses Ctrl-C, while it is armed."""

    def __init__(self, messages: Sequence[Message], at: int) -> None:
        super().__init__(messages)
        self.at, self.armed = at, False

    def __getitem__(self, index):
        if self.armed and index == self.at:
            raise KeyboardInterrupt
        return super().__getitem__(index)


class KnownTest(unittest.TestCase):
    """What is known of the last time is what would be found now."""

    def test_lists_that_go_on_are_cut_as_if_anew(self) -> None:
        """Longer, shorter, another beginning, another limit."""
        rng = random.Random(6)
        history = [user("z" * rng.randint(0, 900)) for _ in range(200)]
        parts = Parts(history)
        for _ in range(300):
            start = rng.choice((0, 0, 0, 0, 50))
            indexes = [at for at in range(start, rng.randint(start, 200)) if at % 17 or start]
            limit = rng.choice((2_000, 2_000, 2_000, 700))
            found = parts.cut(indexes, limit)
            self.assertEqual(Parts(history).cut(indexes, limit), found)
            self.assertEqual(indexes, [at for part in found for at in part])

    def test_segments_that_go_on_are_of_whole_groups_and_cut_as_if_anew(self) -> None:
        """So many messages and more each; no result begins one."""
        rng = random.Random(8)
        history = list(life(60))
        parts = Parts(history)
        for _ in range(100):
            start = rng.choice((2, 2, 2, 20))
            indexes = list(range(start, rng.randint(start, len(history))))
            found = parts.segments(indexes, 5)
            self.assertEqual(Parts(history).segments(indexes, 5), found)
            for part in found[:-1]:
                self.assertIn(len(part), (5, 6))
                self.assertNotEqual("tool", history[part[-1] + 1]["role"])

    def test_segments_that_grow_or_lose_their_end_equal_some_made_anew(self) -> None:
        """And the old ones are merged once; where there cannot be fewer it ends too."""
        merged: list[Segment] = []

        def merge(some: Sequence[Segment]) -> Segment:
            merged.append(Segment(some[0].first, some[-1].last, sum(n.messages for n in some),
                                  f"({' '.join(segment.text for segment in some)})"))
            return merged[-1]

        rng, segments = random.Random(2), Segments()
        parts = [((at,), str(at)) for at in range(300)]
        for size in (*range(300), *(rng.randrange(300) for _ in range(50))):
            found = segments.become(parts[:size]).merged(4, merge)
            self.assertEqual(Segments().become(parts[:size]).merged(4, merge), found)
            self.assertLessEqual(len(found), 4)
            self.assertEqual(size, sum(segment.messages for segment in found))
        merged.clear()
        segments.become(parts[:100]).merged(4, merge)
        for size in range(100, 301):
            segments.become([*parts[:size - 1], ((size,), "new")]).merged(4, merge)
        self.assertLessEqual(len(merged), 2 * 200)
        self.assertEqual([(1, 8), (9, 9)], [segment[:2] for segment in Segments().become(
            parts[:9]).merged(1, merge)])
        self.assertEqual("(((0 1) 2) 3)", Segments().become(parts[:5]).merged(1, merge)[0].text)

    def test_support_is_found_as_if_anew(self) -> None:
        """Over random coverings of random histories, with invented names among the true ones."""
        for seed in range(40):
            rng = random.Random(seed)
            history = list(random_messages(rng))
            said = [name for message in history for finder in FINDERS
                    for name in finder(message["content"])]
            names = [*rng.sample(said, min(12, len(said))), "ghost.py", "4711", "12", "1", "66"]
            support = Support(history)
            for _ in range(30):
                covered = sorted(rng.sample(range(len(history)), rng.randint(0, len(history))))
                originals = [history[at] for at in covered]
                found = support.unsupported(names, covered)
                alone = Support(originals).unsupported(names, range(len(originals)))
                self.assertEqual(alone, found)
                self.assertEqual(found, unsupported(names, originals))
                chars = rng.randrange(3_000)
                self.assertEqual(Support(originals).longer(chars, range(len(originals))),
                                 support.longer(chars, covered))


def life(steps: int) -> Iterator[Message]:
    """Reads, edits and failures over a few files, a list of points, now and then a user."""
    rng = random.Random(9)
    yield system("You are a coding agent.")
    yield user("Move the service to src/client.py. Never touch config/prod.yaml.")
    for step in range(steps):
        path = f"src/part_{rng.randrange(30)}.py"
        name = rng.choice(("read_file", "read_file", "edit_file", "write_file", "run"))
        made = {"path": path, **({"content": f"value = {step}\n"} if name == "write_file" else {})}
        failed = {"code": "FAILED", "message": f"exit={step}"} if rng.random() < .2 else None
        yield assistant(f"Step {step} because of {path}: - [{rng.choice(' x')}] point {step % 9}\n"
                        f"- [{rng.choice(' x')}] point {step % 7}", [call(f"c{step}", name, made)])
        yield tool_result(f"c{step}", name, "\n".join(
            f"{line}: value_{step}_{line} = compute({line}, mode={step})"
            for line in range(rng.choice((3, 40)))), failed)
        if step % 70 == 69:
            yield user(f"And mind point {step}.")


class AnewTest(unittest.TestCase):
    """The same bytes from a window that knows its past and from one that has just come."""

    def lived(self, policy: str, fresh: bool) -> list[Record]:
        """The records of a session; `fresh`: before each call all but the records is forgotten."""
        records: list[Record] = []
        made = governed_by(find_policy(policy), WINDOW)
        count, texts, store = estimator("chars4"), Texts(), MemoryStore()
        tracer = Tracer(records.append)
        window: ContextWindow | None = None
        history: list[Message] = []
        step = 0
        for message in life(100):
            if message["role"] == "assistant":
                if window is None or fresh:
                    state = WindowState(count, texts)
                    for record in records:
                        state.fold(record)
                    window = ContextWindow(made.policy, made.budget, state,
                                           Resources(ScriptedModel([]), tracer, store))
                if policy == "stages" and step % 30 == 29:
                    window.stage_done(history, f"stage {step}", step)
                window.before_model_call(history, step)
                tracer.event("model_call", step=step, messages=window.messages,
                             tokens=window.tokens)
                step += 1
            tracer.message(step, message)
            history.append(message)
        return records

    def test_a_summary_that_was_kept_up_has_the_bytes_of_one_made_anew(self) -> None:
        """Every record of 100 steps, under every policy that sums up."""
        for policy in SUMMARISING:
            with self.subTest(policy=policy):
                grown, anew = (self.lived(policy, fresh) for fresh in (False, True))
                for one, other in zip(grown, anew, strict=True):
                    self.assertEqual(other, one)
                self.assertGreater(sum(entry["how"] == "summary" for told in payloads(
                    grown, "context_compression") for entry in told["entries"]), 2)

    def test_what_an_interrupt_left_half_done_is_made_anew(self) -> None:
        """At any part that is added: the next text is that of one that knows nothing."""
        class Cut(SummaryText):
            """Is interrupted at the first part that says so."""

            def _add(self, part) -> None:
                if "stop" in part.text:
                    raise KeyboardInterrupt
                super()._add(part)

        parts = [((at,), f"## A\n{at}\n## {at}\nown") for at in range(5)]
        for at in range(5):
            summary = Cut(NONE)
            summary.become(parts)
            with self.assertRaises(KeyboardInterrupt):
                summary.become([*parts[:at], ((at,), "## A\nstop"), *parts[at:]])
            self.assertEqual(SummaryText(NONE).become(parts).text(), summary.become(parts).text())

    def test_a_summary_adds_only_the_parts_that_are_new(self) -> None:
        """However long the session has become."""
        added: list[int] = []

        class Counting(SummaryText):
            """Counts the parts that are added."""

            def _add(self, part) -> None:
                added.append(len(self._parts))
                super()._add(part)

        summary = Counting(NONE)
        parts = [((at,), f"## A\n{at}") for at in range(500)]
        for size in range(1, 501):
            summary.become([*parts[:size - 1], ((size,), f"## A\ndraft of {size}")])
        self.assertLessEqual(len(added), 2 * 500)


if __name__ == "__main__":
    unittest.main()
