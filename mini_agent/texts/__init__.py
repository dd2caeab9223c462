"""Every text that the harness puts into a window, and why a run ended, in English and in Chinese.

A key, the English text, the Chinese text, with `str.format` fields: short ones in
the table here, those of a room with many in a file of their own beside it. In English,
`{count:line}` is a count with its noun, `1 line` or `2 lines`; what has more than an `s`
after it gives both: `{count:line is|lines are}`.
Nothing else in the program may write prose for the model, so that a run speaks
one language from its first tool result to its last summary.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from string import Formatter
from typing import Any

from ..columns import number_of
from .children import CHILDREN
from .digest import DIGEST
from .endings import ENDINGS
from .lab import LAB
from .live import LIVE
from .paths import PATHS
from .summaries import SUMMARIES
from .tools import TOOLS

LANGUAGES = ("en", "zh")
_HAN = re.compile("[\u4e00-\u9fff]")
_LETTER = re.compile("[A-Za-z]")

TEXTS: dict[str, tuple[str, str]] = {
    # shrink.py
    "aging_mark": ("[tool result aged, head and tail kept]", "[工具结果已老化,保留首尾]"),
    "aging_header": ("{mark} {chars:character} / {lines:line} originally",
                     "{mark} 原 {chars} 字符 / {lines} 行"),
    "aging_code": (" / error code {code}", " / 错误码 {code}"),
    "aging_gap": ("... (middle left out, the whole is in the run log) ...",
                  "……(中段已省略,完整内容见运行日志)……"),
    # pins.py
    "pins_header": ("Pinned, word for word:", "已固定,逐字保留:"),
    "pin_constraint": ("- constraint: {text}", "- 约束: {text}"),
    "pin_parameter": ("- parameter: {text}", "- 参数: {text}"),
    "pin_error_fix": ("- error and fix: {text}", "- 错误与修复: {text}"),
    "pin_assumption": ("- assumption, NOT verified: {text}", "- 假设,未验证: {text}"),
    # pinning.py
    "pin_no_message": ("there is no message #{index}; the newest is #{last}",
                       "没有消息 #{index};最新的是 #{last}"),
    "pin_no_kind": ("no kind {kind!r}; there are {kinds}", "没有类别 {kind!r};可用的有 {kinds}"),
    "pin_no_text": ("message #{index} has no text", "消息 #{index} 没有文字"),
    "pin_not_said": ("message #{index} does not have this text word for word",
                     "消息 #{index} 中没有与此完全一致的文字"),
    "pin_left": ("message #{index} has left the window", "消息 #{index} 已离开窗口"),
    "pin_no_room": ("it has {more:token} and {taken} are pinned already; pins may take {limit} "
                    "together ({share} % of {window})",
                    "它有 {more} 个 token,已固定的有 {taken} 个;固定内容合计至多 {limit} 个"
                    "({window} 的 {share} %)"),
    # pin_tools.py
    "tool_pin": ("Keep a text of a message word for word for the rest of this session, whatever "
                 "is compressed.", "让某条消息中的一段文字在本次会话中逐字保留,不受压缩影响"),
    "arg_pin_text": ("The text, exactly as it stands in the message (default: all of it)",
                     "要保留的文字,与消息完全一致(默认为整条消息)"),
    "arg_pin_kind": ("What it is (default: constraint); an assumption stays marked as not verified",
                     "类别(默认 constraint);assumption 会一直标为未验证"),
    "pin_set": ("pinned: a text of #{handle}; {count:pin} in all",
                "已固定 #{handle} 中的一段文字;现在共固定 {count} 处"),
    "tool_stage_done": ("Say that a stage of the work is finished, with its name.",
                        "声明一个工作阶段已完成,并给出名称"),
    "arg_stage": ("What the stage was about, in a few words", "该阶段的内容,几个词即可"),
    "stage_ended": ("the stage ends here: {name}", "阶段到此结束: {name}"),
    # shrink.py: users' words
    "user_handle": ("[user message #{index} of {chars:character}, beyond the share of the window "
                    "that users' words may take; {way_back}]",
                    "[用户消息 #{index},共 {chars} 字符,超出用户原文可占的窗口份额;{way_back}]"),
    # scene.py
    "way_back_tool": ("read_result(handle={index}) gives it back",
                      "可用 read_result(handle={index}) 取回"),
    "way_back_log": ("the whole is message #{index} of the run log",
                     "完整内容见运行日志第 #{index} 条消息"),
    # extract.py
    "rolling_header": (
        "[rolling summary] {count:older message} folded; of each step its action and the first "
        "line of each result are kept, the whole is in the run log",
        "[滚动摘要] 已折叠 {count} 条旧消息,每步只留动作原文与回报首行,完整内容见运行日志"),
    "rolling_action": ("{number}. Action: {text}", "{number}. 动作: {text}"),
    "rolling_user": ("{number}. User: {text}", "{number}. 用户: {text}"),
    "rolling_result": ("   {name} result: {line}", "   {name} 回报: {line}"),
    "rolling_lines": (" ({lines:line})", " (共 {lines} 行)"),
    # loop.py
    "interrupted": ("interrupted by the user before it was finished", "在完成之前被用户中断"),
    # models/turns.py, models/live.py
    "turns_opening": ("(The conversation began earlier; its beginning is not shown.)",
                      "(对话在此之前已经开始,开头未显示。)"),
    "turns_bridge": ("(I had not answered yet.)", "(我尚未答复。)"),
    "turns_go_on": ("Go on.", "请继续。"),
    "turns_empty": ("(empty)", "(空)"),
    "turns_orphan": ("[tool result of {name}, its call is no longer shown]\n{content}",
                     "[{name} 的工具结果,其调用已不再显示]\n{content}"),
    "turns_no_result": ("ERROR NO_RESULT: the result of this call is not there",
                        "ERROR NO_RESULT: 此调用的结果不存在"),
    "summary_cut": ("[cut off here: the summary reached the longest answer allowed]",
                    "[至此截断:摘要已达到允许的最大长度]"),
    **DIGEST,
    **CHILDREN,
    **ENDINGS,
    **LAB,
    **LIVE,
    **PATHS,
    **TOOLS,
    # tools/skill.py
    "tool_skill": ("Load the instructions for a kind of work. There are: {names}",
                   "载入某类工作的操作说明。可用: {names}"),
    "arg_skill": ("Name of the skill", "技能名称"),
    "SKILL_NOT_FOUND": ("there is no skill {name}; there are: {names}",
                        "没有名为 {name} 的技能;可用: {names}"),
    "none": ("none", "无"),
    **SUMMARIES,
}


def language_of(text: str) -> str:
    """"zh" if `text` has a Han character for every 10 letters, else "en"."""
    han = len(_HAN.findall(text))
    return "zh" if han and han * 10 >= len(_LETTER.findall(text)) else "en"


def session_language(messages: Iterable[Mapping[str, Any]]) -> str:
    """The language of the first user message; "en" where there is none that can be read."""
    said = next((message.get("content") for message in messages
                 if message.get("role") == "user"), "")
    return language_of(said if isinstance(said, str) else "")


def recorded_language(records: Sequence[Mapping[str, Any]]) -> str:
    """The language of a run: that of its first user message, unless its `run_start` names one,
    as it does where the two differ."""
    start: Mapping[str, Any] = next((record["payload"] for record in records
                                     if record.get("event") == "run_start"), {})
    if start.get("language") in LANGUAGES:
        return str(start["language"])
    return session_language(record["message"] for record in records
                            if record["type"] == "message")


class _Count(int):
    """A number that a text may ask for with its noun."""

    def __format__(self, nouns: str) -> str:
        one, _, many = nouns.partition("|")
        return number_of(int(self), one, many=many) if nouns else str(int(self))


@dataclass(frozen=True)
class Texts:
    """The texts of one language: `texts("aging_code", code="X")`."""

    language: str = "en"

    def __call__(self, key: str, /, **fields: Any) -> str:
        """The text of `key` with its fields filled in; KeyError if there is none."""
        return self._template(key).format(**{
            name: _Count(value) if type(value) is int else value
            for name, value in fields.items()})

    def bare(self, key: str) -> str:
        """The text of `key` with its fields empty: the least that it can come to."""
        return "".join(said for said, *_ in Formatter().parse(self._template(key)))

    def _template(self, key: str) -> str:
        return TEXTS[key][LANGUAGES.index(self.language)]
