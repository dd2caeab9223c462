"""Milestone 3: placeholders for old results, files for large ones, decisions that stay."""

from __future__ import annotations

import unittest

from mini_agent.compression.clear import digest
from mini_agent.compression.offload import head_of
from mini_agent.compression.policies import find_policy, with_settings
from mini_agent.compression.store import MemoryStore
from mini_agent.errors import PromptTooLongError, StrategyError
from mini_agent.extract import first_sentence
from mini_agent.messages import assistant, call, tool_result, user

from .policy_session import PolicySession, ladder

NEVER = 10**9  # tokens: a window that nothing fills


class Clearing(unittest.TestCase):
    """`tool_result_clearing`: what goes, what stays, what is said in its place."""

    def session(self, *, tool: str = "read_file", **settings: object) -> PolicySession:
        """Five rounds of one long result each, all answered but the last."""
        run = PolicySession(ladder("tool_result_clearing", **settings), NEVER, trigger=0)
        for number in range(5):
            run.round(f"f{number}.py", f"row {number}\n" * 100, tool=tool,
                      said=f"I look at f{number}.py. Then I go on." if number else "")
        run.ask()
        return run

    def shortened(self, run: PolicySession) -> list[int]:
        """The history indexes of the results that were cleared."""
        return [entry.stands_for[0] for entry in run.entries if entry.how == "shortened"]

    def test_the_newest_results_stay_and_older_ones_become_placeholders(self) -> None:
        """With five results and `keep` 3, the first two are cleared."""
        self.assertEqual(self.shortened(self.session(keep=3)), [3, 5])
        self.assertEqual(self.shortened(self.session(keep=10)), [])

    def test_a_result_that_was_not_answered_stays_even_with_keep_0(self) -> None:
        """The model has not seen the last result yet."""
        self.assertEqual(self.shortened(self.session(keep=0)), [3, 5, 7, 9])

    def test_a_placeholder_says_what_it_was_and_what_came_of_it(self) -> None:
        """Tool, target, size, digest, the first sentence of the answer, the way back."""
        text = "row 0\n" * 100
        self.assertEqual(
            self.session(keep=3).entry(3).message["content"],
            f"[cleared #3: read_file f0.py, 600 characters, 100 lines, sha256 {digest(text)}; "
            "answered with: I look at f1.py.; read_result(handle=3) gives it back]")

    def test_failed_results_can_be_exempt(self) -> None:
        """With `keep_errors` the result of a failed call stays."""
        run = PolicySession(ladder("tool_result_clearing", keep=0, keep_errors=True), NEVER,
                            trigger=0)
        run.round("a", "bad\n" * 100)
        run.history[-1]["error"] = {"code": "FILE_NOT_FOUND", "message": "no"}
        run.round("b", "good\n" * 100)
        run.say(assistant("Both are read."))
        run.ask()
        self.assertEqual(self.shortened(run), [5])

    def test_named_tools_are_exempt(self) -> None:
        """What a tool in `exempt` gave stays."""
        self.assertEqual(self.shortened(self.session(keep=0, exempt=["read_file"])), [])

    def test_nothing_is_cleared_for_less_than_clear_at_least(self) -> None:
        """The prefix is broken only when it pays: 2 x 107 tokens do, one less does not."""
        freed = sum(154 - entry.tokens for entry in self.session(keep=3).entries
                    if entry.how == "shortened")
        self.assertEqual(len(self.shortened(self.session(keep=3, clear_at_least=freed))), 2)
        self.assertEqual(self.shortened(self.session(keep=3, clear_at_least=freed + 1)), [])

    def test_a_repeated_call_is_counted_and_compared(self) -> None:
        """The third reading of a file says that it is the third, and whether it was the same."""
        run = PolicySession(ladder("tool_result_clearing", keep=0), NEVER, trigger=0)
        for text in ("one\n" * 99, "one\n" * 99, "two\n" * 99):
            run.round("a.py", text)
        run.say(assistant("It has changed."))
        run.ask()
        said = [run.entry(index).message["content"] for index in (3, 5, 7)]
        self.assertNotIn("call number", said[0])
        self.assertIn("; at least call number 2 of its kind, the result of #3 was the same;",
                      said[1])
        self.assertIn("; at least call number 3 of its kind, the result of #5 was another;",
                      said[2])

    def test_a_call_without_json_is_named_by_what_it_was(self) -> None:
        """The raw text, bounded; only the same text is the same call."""
        run = PolicySession(ladder("tool_result_clearing", keep=0), NEVER, trigger=0)
        for raw in ('{"path": "a', '{"path": "b' + "x" * 200, '{"path": "a'):
            run.say(assistant("", [call("c", "read_file", raw)]),
                    tool_result("c", "read_file", "no JSON\n" * 99))
        run.say(assistant("Odd."))
        run.ask()
        said = [run.entry(index).message["content"] for index in (3, 5, 7)]
        self.assertEqual(['[cleared #3: read_file {"path": "a, 792 characters',
                          '[cleared #5: read_file {"path": "b' + "x" * 89 + "..., 792 characters",
                          '[cleared #7: read_file {"path": "a, 792 characters'],
                         [text[:text.index(" characters") + 11] for text in said])
        self.assertEqual([False, False, True], ["call number" in text for text in said])
        self.assertIn("call number 2 of its kind, the result of #3 was the same;", said[2])

    def test_results_in_another_order_than_their_calls_name_their_own_call(self) -> None:
        """A placeholder's target is that of the call it answers, also where ids repeat."""
        run = PolicySession(ladder("tool_result_clearing", keep=0), NEVER, trigger=0)
        run.say(assistant("", [call("x", "read_file", {"path": "one"}),
                               call("y", "read_file", {"path": "two"}),
                               call("x", "read_file", {"path": "three"})]),
                tool_result("y", "read_file", "2\n" * 200),
                tool_result("x", "read_file", "1\n" * 200),
                tool_result("x", "read_file", "3\n" * 200), assistant("Read."))
        run.ask()
        self.assertEqual([run.entry(index).message["content"].split(",")[0]
                          for index in (3, 4, 5)],
                         ["[cleared #3: read_file two", "[cleared #4: read_file one",
                          "[cleared #5: read_file three"])

    def test_a_first_sentence_is_one_line_and_bounded(self) -> None:
        """Dots inside names do not end it; Chinese stops do; 200 characters are the most."""
        self.assertEqual(first_sentence("See app.py now. More"), "See app.py now.")
        self.assertEqual(first_sentence("已读完。接着改"), "已读完。")
        self.assertEqual(first_sentence("a\nb"), "a b")
        self.assertEqual(first_sentence(""), "")
        self.assertEqual(first_sentence("x" * 5000), "x" * 200 + "...")


class Offload(unittest.TestCase):
    """`result_offload`, with the published numbers."""

    def test_a_preview_ends_with_a_line_that_fits_whole(self) -> None:
        """Only where the first one does not is it cut by character."""
        for limit, head in ((2, ("ab", False)), (3, ("abc", True)), (6, ("abc", True)),
                            (7, ("abc\ndef", True))):
            self.assertEqual(head, head_of("abc\ndef\nghi", limit), limit)
        self.assertEqual(("\nab", False), head_of("\nabcdef\n", 3))

    def session(self, window: int = 200_000, *, store: MemoryStore | None = None,
                scale: bool = True, **settings: object) -> PolicySession:
        policy = with_settings(find_policy("two_layer"), settings, "test")
        return PolicySession(policy, window, store=store or MemoryStore(), scale=scale)

    def test_of_ten_results_of_40_000_characters_the_six_largest_go_to_disk(self) -> None:
        """400,000 characters in one step are over 200,000: four of 40,000 stay, 160,000."""
        run = self.session(2_000_000, scale=False)
        run.round("x", *("y" * 39_999 + str(number) for number in range(10)))
        run.ask()
        kept = [len(entry.message["content"]) for entry in run.entries if entry.how == "verbatim"
                and entry.message["role"] == "tool"]
        self.assertEqual((len(run.store.results), sum(kept)), (6, 160_000))

    def test_the_largest_go_first(self) -> None:
        """Of 90,000 + 45,000 x 3 + 30,000 the one over 50,000 goes, and then no other has to."""
        run = self.session(2_000_000, scale=False)
        run.round("x", *("y" * size for size in (45_000, 90_000, 45_000, 30_000, 45_000)))
        run.ask()
        self.assertEqual(list(run.store.results), [4])
        run.round("x", *("z" * size for size in (50_000, 41_000, 50_000, 49_000, 30_000)))
        run.ask()
        self.assertEqual(list(run.store.results), [4, 9])  # 220,000: one of the two largest

    def test_what_is_at_a_limit_stays_and_with_one_character_more_goes(self) -> None:
        """That of a result is 50,000 characters, that of a batch 200,000."""
        for sizes, moved in (((50_000, 50_001), [4]), ((40_000,) * 5, []),
                             ((*(40_000,) * 5, 1), [3])):
            run = self.session(2_000_000, scale=False)
            run.round("x", *("y" * size for size in sizes))
            run.ask()
            self.assertEqual(moved, [*run.store.results])

    def test_at_the_third_step_only_what_is_new_can_move(self) -> None:
        """X of 8,000 and Y of 7,000 were sent whole; with Z of 9,000 they are over 20,000, so Z
        goes, and its preview is the same bytes in every later request."""
        run = self.session(2_000_000, scale=False, batch_scope="view", batch_chars=20_000)
        for size in (8_000, 7_000, 9_000):
            run.round("x", "row of nine\n" * (size // 12) + "." * (size % 12))
        run.ask()
        self.assertEqual([entry.how for entry in run.entries if entry.message["role"] == "tool"],
                         ["verbatim", "verbatim", "shortened"])
        preview = run.entry(7)
        for _ in range(5):
            run.round("x", "small")
            self.assertIs(run.entry(7), preview)
        self.assertEqual(list(run.store.results), [7])

    def test_what_was_sent_moves_where_nothing_is_frozen(self) -> None:
        """A result of 1,200 characters goes once the trigger is passed, two steps later."""
        for frozen, moved in ((False, [3]), (True, [])):
            run = PolicySession(ladder("result_offload", max_chars=300, preview_chars=60), 1_000,
                                trigger="50%", frozen=frozen)
            run.round("x", "y" * 1_200)
            run.round("x", "small")
            run.say(user("z" * 1_200))
            run.ask()
            self.assertEqual(moved, [*run.store.results])

    def test_a_batch_is_what_one_step_gave_or_all_of_the_view(self) -> None:
        """Two steps of 1,200 characters: each is within 1,500, both are not with two previews."""
        for scope, moved in (("step", []), ("view", [3, 4, 6])):
            run = PolicySession(ladder("result_offload", max_chars=10**6, batch_chars=1_500,
                                       preview_chars=60, batch_scope=scope), 1_000, trigger="30%")
            for _ in range(2):
                run.round("x", "y" * 600, "y" * 600)
            run.ask()
            self.assertEqual(moved, [*run.store.results])

    def test_the_absolute_numbers_scale_with_the_window(self) -> None:
        """In a window of 20,000 a result over 5,000 characters goes, a preview of 200 stays."""
        run = self.session(20_000)
        run.round("x", "y" * 5_000, "y" * 5_001)
        run.ask()
        self.assertEqual(list(run.store.results), [4])
        self.assertEqual(run.entry(4).message["content"].partition("\n")[2], "y" * 200)

    def test_a_preview_ends_on_a_whole_line_and_says_how_much_is_missing(self) -> None:
        """Sizes and the way back stand first; 2,000 characters hold 166 lines of 12."""
        run = self.session()
        run.round("x", "row of nine\n" * 5_000)
        text = run.ask()[3]["content"]
        self.assertEqual(text.partition("\n")[0],
                         "[offloaded #3: 60000 characters, 5000 lines; the first 1991 characters, "
                         "166 lines stand below; read_result(handle=3) gives it back]")
        self.assertEqual(text.partition("\n")[2], "\n".join(["row of nine"] * 166))

    def test_a_line_longer_than_the_preview_is_cut_and_the_header_says_so(self) -> None:
        """A result of one line of 100,000 characters keeps 2,000 of them."""
        run = self.session()
        run.round("x", "y" * 100_000)
        head, _, body = run.ask()[3]["content"].partition("\n")
        self.assertIn("; the first 2000 characters, 1 line stands below (the last one is cut); ",
                      head)
        self.assertEqual(body, "y" * 2_000)

    def test_a_result_that_begins_with_the_mark_moves_like_any_other(self) -> None:
        """What a tool printed is text, also where it looks like a preview of ours."""
        run = self.session()
        run.round("x", "[offloaded #9: 1 characters, 1 lines; x]\n" + "row of nine\n" * 5_000)
        head = "[offloaded #3: 60041 characters, 5001 "
        self.assertTrue(run.ask()[3]["content"].startswith(head))

    def test_a_result_just_over_the_limit_that_would_grow_stays(self) -> None:
        """51 characters over a limit of 50: the preview's header alone has more, nothing moves."""
        run = self.session(2_000_000, scale=False, max_chars=50)
        run.round("x", "y" * 51)
        self.assertEqual(run.ask()[3]["content"], "y" * 51)
        self.assertEqual((run.store.results, run.records), ({}, []))

    def test_what_was_read_back_is_never_stored_again(self) -> None:
        """Results of `read_result` and `recall` are kept already."""
        for tool in ("read_result", "recall"):
            run = self.session()
            run.round("x", "y" * 100_000, tool=tool)
            run.ask()
            self.assertEqual((run.store.results, run.entry(3).how), ({}, "verbatim"))

    def test_a_store_that_fails_leaves_the_original_and_a_record(self) -> None:
        """Nothing changes, `compression_skipped` says failed, once; the next step tries again."""
        run = self.session(store=Broken())
        run.round("x", "y" * 100_000)
        run.ask()
        run.round("x", "small")
        run.ask()
        self.assertEqual([entry.how for entry in run.entries], ["verbatim"] * len(run.entries))
        (skipped,) = run.events("compression_skipped")
        self.assertEqual((skipped["reason"], skipped["strategy"]), ("failed", "result_offload"))
        self.assertIn("disk full", skipped["detail"])

    def test_without_a_place_to_keep_it_the_strategy_says_so(self) -> None:
        """No store is a failure with a remedy, not a silent loss."""
        run = self.session()
        run.window._ladder._store = None
        run.round("x", "y" * 100_000)
        run.ask()
        self.assertIn("nowhere to keep", run.events("compression_skipped")[0]["detail"])

    def test_a_step_with_nothing_to_move_leaves_no_record(self) -> None:
        """It is judged before every call, so "nothing to do" is no news."""
        run = self.session()
        for _ in range(5):
            run.round("x", "small")
        self.assertEqual(run.records, [])

    def test_what_a_refused_request_held_may_still_move(self) -> None:
        """An endpoint that says "too long" has not answered: what it was sent is not frozen."""
        run = self.session(2_000_000, scale=False, max_chars=10**6)
        run.round("x", "y" * 60_000)
        run.ask()
        run.window.use(with_settings(run.window.policy, {"max_chars": 50_000}, "test"),
                       run.window.budget, run.step)
        sent = run.window.after_refusal(run.history, run.step, PromptTooLongError("too long"))
        self.assertTrue(sent[3]["content"].startswith("[offloaded #3: "))


class Broken(MemoryStore):
    """A disk that is full."""

    def put(self, index: int, text: str) -> None:
        raise StrategyError("disk full", place="results")
