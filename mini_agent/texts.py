"""Every text that the harness puts into a window, in English and in Chinese.

One table: a key, the English text, the Chinese text, with `str.format` fields.
Nothing else in the program may write prose for the model, so that a run speaks
one language from its first tool result to its last summary.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

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
