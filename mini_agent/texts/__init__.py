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

from .summaries import SUMMARIES

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
    # lab/extremes.py
    "oracle_header": ("[of {count} older messages: what will be used]",
                      "[取自 {count} 条旧消息:之后会用到的内容]"),
    "bag_of_words_header": ("[of {count} older messages: their words]",
                            "[取自 {count} 条旧消息:其中的词]"),
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
    # tools/
    "tool_list_files": (
        "List the files under a folder of the workspace, recursively, with their sizes. "
        ".git and __pycache__ are left out.",
        "递归列出工作区某个文件夹下的文件及其大小,略过 .git 与 __pycache__"),
    "tool_read_file": ("Read a text file, whole or a range of lines.", "读取文本文件,整篇或指定行范围"),
    "tool_search_text": (
        "Find the lines of a file, or of all files under a folder, that contain a text.",
        "在一个文件或一个文件夹的所有文件里查找含有某段文本的行"),
    "tool_write_file": ("Write a whole file; it is made or replaced.", "写入整个文件,新建或覆盖"),
    "tool_edit_file": (
        "Replace one stretch of a file. `old` must stand there exactly once.",
        "替换文件中的一段文本;old 必须恰好出现一次"),
    "tool_run_command": (
        "Run one program in the workspace, without a shell: no pipes, redirections, wildcards "
        "or variables. It has no standard input and a time limit.",
        "在工作区里运行一个程序,不经过 shell:没有管道、重定向、通配符和变量;没有标准输入,有时间限制"),
    "arg_path": ("File, relative to the workspace", "文件路径,相对于工作区"),
    "arg_folder": ("Folder, relative to the workspace (default: all of it)",
                   "文件夹,相对于工作区(默认为整个工作区)"),
    "arg_search_path": ("File or folder, relative to the workspace (default: all of it)",
                        "文件或文件夹,相对于工作区(默认为整个工作区)"),
    "arg_start": ("Number of the first entry to show, from 1", "从第几条开始显示,从 1 计"),
    "arg_start_line": ("First line, from 1", "起始行,从 1 计"),
    "arg_end_line": ("Last line, included", "结束行,包含在内"),
    "arg_start_char": ("First character of the first line, from 1, for very long lines",
                       "起始行内的起始字符,从 1 计,用于极长的行"),
    "arg_content": ("The whole new content", "完整的新内容"),
    "arg_old": ("The text to replace, exactly as it stands in the file", "要替换的原文,与文件完全一致"),
    "arg_new": ("The text to put in its place", "替换成的新文本"),
    "arg_pattern": ("The text to find, taken literally", "要查找的文本,按字面匹配"),
    "arg_regex": ("Take the pattern as a Python regular expression", "把 pattern 当作 Python 正则表达式"),
    "arg_command": ("The program and its arguments", "程序及其参数"),
    "arg_shell": ("Use a shell, where the settings allow it", "使用 shell,需设置允许"),
    "arg_timeout": ("Time limit in seconds (default {seconds})", "时间限制,单位秒(默认 {seconds})"),
    "unknown_tool": ("there is no tool {name}{hint}; the tools are: {names}",
                     "没有名为 {name} 的工具{hint};可用的工具: {names}"),
    "did_you_mean": (" (did you mean {names}?)", " (是否想用 {names}?)"),
    "invalid_json": ("the arguments are no JSON object: {fault}", "参数不是 JSON 对象: {fault}"),
    "json_type": ("it is {found}", "类型是 {found}"),
    "json_string": ("it is an object inside a string", "是放在字符串里的对象"),
    "fault_missing": ("{place} is missing", "缺少 {place}"),
    "fault_unknown": ("{place} is unknown", "未知参数 {place}"),
    "fault_type": ("{place} must be {wanted}, not {found}",
                   "{place} 应为 {wanted},而不是 {found}"),
    "fault_enum": ("{place} must be one of {allowed}, not {value}",
                   "{place} 应为 {allowed} 之一,而不是 {value}"),
    "fault_minimum": ("{place} must be at least {limit}, not {value}",
                      "{place} 至少为 {limit},而不是 {value}"),
    "fault_maximum": ("{place} must be at most {limit}, not {value}",
                      "{place} 至多为 {limit},而不是 {value}"),
    "FILE_NOT_FOUND": ("no such file: {path}", "文件不存在: {path}"),
    "NOT_A_FILE": ("not a regular file: {path}", "不是普通文件: {path}"),
    "NOT_A_FOLDER": ("not a folder: {path}", "不是文件夹: {path}"),
    "OUTSIDE_WORKSPACE": ("outside the workspace: {path}", "路径在工作区之外: {path}"),
    "FILE_TOO_LARGE": ("{path} has {size} bytes, more than {limit} are not read",
                       "{path} 有 {size} 字节,超过 {limit} 字节的文件不读取"),
    "FILE_ERROR": ("{path}: {reason}", "{path}: {reason}"),
    "BINARY_FILE": ("not a UTF-8 text file: {path}, {size} bytes",
                    "不是 UTF-8 文本文件: {path},{size} 字节"),
    "BAD_RANGE": ("no lines {first} to {last}: the file has {lines} lines",
                  "没有第 {first} 到 {last} 行: 文件共 {lines} 行"),
    "bad_char": ("line {line} has no character {char}: it has {chars}",
                 "第 {line} 行没有第 {char} 个字符: 该行共 {chars} 个"),
    "bad_start": ("there is no entry {start}: there are {total}", "没有第 {start} 条: 共 {total} 条"),
    "read_lines": ("[lines {first} to {last} of {lines} are shown, {chars} of {total} characters; "
                   "next: start_line={next}]",
                   "[显示第 {first} 到 {last} 行,共 {lines} 行;{chars} 个字符,共 {total} 个;"
                   "下一段: start_line={next}]"),
    "read_chars": ("[of line {line} of {lines}, characters {first} to {last} of {total} are shown; "
                   "next: start_line={line}, start_char={next}]",
                   "[第 {line} 行(共 {lines} 行)显示第 {first} 到 {last} 个字符,共 {total} 个;"
                   "下一段: start_line={line}, start_char={next}]"),
    "page_next": (" [{first} to {last} are shown; next: start={next}]",
                  " [显示第 {first} 到 {last} 条;下一段: start={next}]"),
    "page_last": (" [{first} to {last} are shown]", " [显示第 {first} 到 {last} 条]"),
    "left_out": (" (left out: {names})", " (略过: {names})"),
    "stopped": (" (there are more files; it stopped after {count})", " (还有更多文件,到 {count} 个为止)"),
    "line_part": (" [characters {first} to {last} of {total}]",
                  " [第 {first} 到 {last} 个字符,共 {total} 个]"),
    "BAD_PATTERN": ("the pattern cannot be used: {fault}", "pattern 无法使用: {fault}"),
    "one_line_only": ("it is empty or has a newline, and lines are searched one by one",
                      "为空或含换行,而查找是逐行进行的"),
    "SEARCH_TIMEOUT": ("the regular expression took more than {seconds} s; make it simpler, or "
                       "search for a plain text", "正则表达式超过 {seconds} 秒;请简化,或按字面查找"),
    "written": ("wrote {path}: {chars} characters / {lines} lines",
                "已写入 {path}: {chars} 字符 / {lines} 行"),
    "empty_old": ("old is empty; to write a whole file use write_file",
                  "old 为空;要写入整个文件请用 write_file"),
    "same_new": ("old and new are the same, nothing would change", "old 与 new 相同,不会有任何变化"),
    "NO_MATCH": ("old does not stand in {path} ({lines} lines); {hint}",
                 "old 不在 {path} 中(共 {lines} 行);{hint}"),
    "closest": ("the closest lines are {numbers}", "最接近的是第 {numbers} 行"),
    "nothing_close": ("no line comes close", "没有相近的行"),
    "SEVERAL_MATCHES": ("old stands {count} times in {path}, in lines {numbers}; add lines around it",
                        "old 在 {path} 中出现 {count} 次,位于第 {numbers} 行;请加上前后的行"),
    "diff_cut": ("[the first {chars} of {total} characters of the diff are shown]",
                 "[差异只显示前 {chars} 个字符,共 {total} 个]"),
    "output_cut": (" [the first {head} and last {tail} of {total} characters are shown]",
                   " [显示开头 {head} 个和末尾 {tail} 个字符,共 {total} 个]"),
    "output_gap": ("\n[... {count} characters left out ...]\n", "\n[……略去 {count} 个字符……]\n"),
    "COMMAND_TIMEOUT": ("not finished after {seconds} s; it was ended with all that it had started",
                        "{seconds} 秒后仍未结束;已连同其启动的进程一并终止"),
    "COMMAND_NOT_FOUND": ("no such program: {command}", "找不到程序: {command}"),
    "COMMAND_NOT_STARTED": ("cannot be started ({reason}): {command}", "无法启动({reason}): {command}"),
    "COMMAND_NOT_ALLOWED": ("not allowed: {command}; allowed are: {programs}",
                            "不允许运行 {command};允许的程序: {programs}"),
    "no_shell": ("a shell is not allowed here; run one program at a time",
                 "这里不允许使用 shell;请一次运行一个程序"),
    "ask_for_shell": ('ask for one with "shell": true', '请用 "shell": true 申请'),
    "needs_shell": ("{operator} needs a shell (or quotes, if it is an argument); {hint}",
                    "{operator} 需要 shell(若是参数请加引号);{hint}"),
    "bad_command": ("command: {reason}: {command}", "command: {reason}: {command}"),
    "empty_command": ("it has no program to run, or a NUL", "没有要运行的程序,或含有 NUL"),
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
