"""Every text that the harness puts into a window, in English and in Chinese.

A key, the English text, the Chinese text, with `str.format` fields: short ones in
the table here, those of a room with many in a file of their own beside it.
Nothing else in the program may write prose for the model, so that a run speaks
one language from its first tool result to its last summary.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from .lab import LAB
from .summaries import SUMMARIES
from .tools import TOOLS

LANGUAGES = ("en", "zh")
_HAN = re.compile("[\u4e00-\u9fff]")
_LETTER = re.compile("[A-Za-z]")

TEXTS: dict[str, tuple[str, str]] = {
    # shrink.py
    "aging_mark": ("[tool result aged, head and tail kept]", "[工具结果已老化,保留首尾]"),
    "aging_header": ("{mark} {chars} characters / {lines} lines originally",
                     "{mark} 原 {chars} 字符 / {lines} 行"),
    "aging_code": (" / error code {code}", " / 错误码 {code}"),
    "aging_gap": ("... (middle left out, the whole is in the run log) ...",
                  "……(中段已省略,完整内容见运行日志)……"),
    "clip_header": (
        "[clipped #{index}: {kept} of {lines} lines, {kept_chars} of {chars} characters{code}; "
        "{way_back}]",
        "[已裁剪 #{index}: 保留 {lines} 行中的 {kept} 行、{chars} 字符中的 {kept_chars} 字符{code};{way_back}]"),
    "clip_gap": ("[... {count} lines left out ...]", "[……略去 {count} 行……]"),
    "clip_cut": (" [... {count} characters of this line left out]", " [……本行略去 {count} 个字符]"),
    "with_code": ("; error code {code}", ";错误码 {code}"),
    # clear.py
    "cleared": (
        "[cleared #{index}: {call}, {chars} characters, {lines} lines, sha256 {digest}{code}"
        "{same}{answer}; {way_back}]",
        "[已清除 #{index}: {call},{chars} 字符,{lines} 行,sha256 {digest}{code}{same}{answer};{way_back}]"),
    "cleared_again": ("; call number {count} of this kind, the result of #{index} {was}",
                      ";同样的调用第 {count} 次,与 #{index} 的结果{was}"),
    "cleared_equal": ("was the same", "相同"),
    "cleared_other": ("was another", "不同"),
    "cleared_answer": ("; answered with: {text}", ";当时的答复: {text}"),
    # offload.py
    "offloaded": (
        "[offloaded #{index}: {chars} characters, {lines} lines{code}; the first {kept_chars} "
        "characters, {kept} lines stand below{cut}; {way_back}]",
        "[已外置 #{index}: {chars} 字符,{lines} 行{code};以下是开头的 {kept_chars} 个字符、{kept} 行{cut};{way_back}]"),
    "offload_cut": (" (the last one is cut)", "(末行被截断)"),
    # drop.py
    "rounds_dropped": (
        "[{rounds} older rounds were dropped to make room: {count} messages, {spans} of the run log]",
        "[为腾出空间已删除 {rounds} 轮较早的对话: {count} 条消息,即运行日志的 {spans}]"),
    "middle_left_out": (
        "[the middle was left out: {count} messages, {spans}; {way_back}]",
        "[中段已省略: {count} 条消息,{spans};{way_back}]"),
    "to_the_store": (
        "[{count} older messages were taken out: {spans}; {search}{way_back}]",
        "[已移出 {count} 条较早的消息: {spans};{search}{way_back}]"),
    "store_search": ("recall(query) searches the store for what stood in them; ",
                     "可用 recall(query) 在存储中检索其内容;"),
    "way_back_any_tool": ("read_result(handle=N) gives each of them back",
                          "可用 read_result(handle=N) 逐条取回"),
    "way_back_any_log": ("they are whole in the run log", "完整内容见运行日志"),
    # compression/tools.py
    "tool_read_result": (
        "Read a message of this session again, whole or in part, by its handle: the N of #N.",
        "按句柄(即 #N 中的 N)重新读取本次会话中的一条消息,可读全部或一部分"),
    "tool_recall": (
        "Search the messages that have left this conversation for words; gives handles and lines.",
        "在已移出对话的消息中按词检索,返回句柄与所在行"),
    "arg_handle": ("The number of the message: 12 for #12", "消息编号:#12 即 12"),
    "arg_first": ("First line or character, from 1", "起始行或字符,从 1 计"),
    "arg_last": ("Last one, included", "结束位置,包含在内"),
    "arg_unit": ("lines (default) or chars", "lines(默认,按行)或 chars(按字符)"),
    "arg_query": ("Words to look for, the rarer the better", "要检索的词,越少见越好"),
    "unit_lines": ("lines", "行"),
    "unit_chars": ("characters", "字符"),
    "read_part": ("[#{handle} {what}: {unit} {start} to {stop} of {total}; {rest}]",
                  "[#{handle} {what}: {unit} {start} 到 {stop},共 {total};{rest}]"),
    "read_next": ("next: start={next}, unit={unit}", "下一段: start={next}, unit={unit}"),
    "read_end": ("this is the end", "到此为止"),
    "no_such_handle": ("there is no message #{handle}: they go from #0 to #{last}",
                       "没有消息 #{handle}: 范围为 #0 到 #{last}"),
    "no_such_part": ("#{handle} has no {unit} {start} to {end}: it has {total}",
                     "#{handle} 没有{unit} {start} 到 {end}: 共 {total}"),
    "empty_query": ("the query has no words to look for", "query 中没有可检索的词"),
    "recall_head": ("[{shown} of {total} messages that hold any of these words, best first; "
                    "read_result(handle=N, start=LINE) reads on]",
                    "[含有这些词的消息共 {total} 条,显示 {shown} 条,最相关的在前;"
                    "可用 read_result(handle=N, start=LINE) 继续读取]"),
    "recall_hit": ("#{index} {what}, line {line} of {lines}: {text}",
                   "#{index} {what},第 {line} 行,共 {lines} 行: {text}"),
    # pins.py
    "pins_header": ("Pinned, word for word:", "已固定,逐字保留:"),
    "pin_constraint": ("- constraint: {text}", "- 约束: {text}"),
    "pin_parameter": ("- parameter: {text}", "- 参数: {text}"),
    "pin_error_fix": ("- error and fix: {text}", "- 错误与修复: {text}"),
    "pin_assumption": ("- assumption, NOT verified: {text}", "- 假设,未验证: {text}"),
    # share.py
    "user_handle": ("[user message #{index} of {chars} characters, beyond the share of the window "
                    "that users' words may take; {way_back}]",
                    "[用户消息 #{index},共 {chars} 字符,超出用户原文可占的窗口份额;{way_back}]"),
    # scene.py
    "way_back_tool": ("read_result(handle={index}) gives it back",
                      "可用 read_result(handle={index}) 取回"),
    "way_back_log": ("the whole is message #{index} of the run log",
                     "完整内容见运行日志第 #{index} 条消息"),
    # extract.py
    "rolling_header": (
        "[rolling summary] {count} older messages folded; of each step its action and the first "
        "line of each result are kept, the whole is in the run log",
        "[滚动摘要] 已折叠 {count} 条旧消息,每步只留动作原文与回报首行,完整内容见运行日志"),
    "rolling_action": ("{number}. Action: {text}", "{number}. 动作: {text}"),
    "rolling_user": ("{number}. User: {text}", "{number}. 用户: {text}"),
    "rolling_result": ("   {name} result: {line}", "   {name} 回报: {line}"),
    "rolling_lines": (" ({lines} lines)", " (共 {lines} 行)"),
    # loop.py
    "interrupted": ("interrupted by the user before it was finished", "在完成之前被用户中断"),
    # models/turns.py, models/live.py
    "turns_opening": ("(The conversation began earlier; its beginning is not shown.)",
                      "(对话更早开始,开头未显示。)"),
    "turns_go_on": ("Go on.", "请继续。"),
    "turns_empty": ("(empty)", "(空)"),
    "turns_orphan": ("[tool result of {name}, its call is no longer shown]\n{content}",
                     "[{name} 的工具结果,其调用已不再显示]\n{content}"),
    "turns_no_result": ("ERROR NO_RESULT: the result of this call is not there",
                        "ERROR NO_RESULT: 此调用的结果不存在"),
    "summary_plain": ("Summarise this in a few lines; invent nothing:\n{said}",
                      "请用几行总结以下内容,不要编造:\n{said}"),
    "summary_cut": ("[cut off here: the summary reached the longest answer allowed]",
                    "[至此截断:摘要已达到允许的最大长度]"),
    **LAB,
    **TOOLS,
    **SUMMARIES,
}


def language_of(text: str) -> str:
    """"zh" if `text` has a Han character for every 10 letters, else "en"."""
    han = len(_HAN.findall(text))
    return "zh" if han and han * 10 >= len(_LETTER.findall(text)) else "en"


@dataclass(frozen=True)
class Texts:
    """The texts of one language: `texts("aging_code", code="X")`."""

    language: str = "en"

    def __call__(self, key: str, /, **fields: Any) -> str:
        """The text of `key` with its fields filled in; KeyError if there is none."""
        return TEXTS[key][LANGUAGES.index(self.language)].format(**fields)
