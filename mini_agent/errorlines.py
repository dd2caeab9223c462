"""Milestone 3: which lines of an output say what is wrong, and where.

Clipping by position cuts the one line that matters; this is how it is known. The
rules are words and forms of compilers, linkers, test runners, package managers,
type checkers, servers and shells, in English and Chinese. What is left out: what
the error means, and errors that no line names.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

# What a line says is wrong, in the words of compilers, linkers, test runners, package
# managers, type checkers, servers and shells. `_STATED` names the fault itself,
# `_SUSPECT` says that there is one; `_WARNING` and `_NOTE` are diagnostics of a lower kind.
_STATED = re.compile(r"""
    ^\s*(?:E\s+|Uncaught\s|Unhandled\s|Caused\ by:\s|Exception\ in\ thread\ "[^"]*"\s|\#\ |Error:\s)?
        [\w.$/]*(?:Error|Exception|Failure|Interrupt|SystemExit|StackOverflow)(?:\s[\[(]\w+[\])])?(?::\s|:?$)
    |^E\s{2,}\S | ^E:\s\S                                        # pytest; apt
    |\b(?:[Ff]atal\ )?[Ee](?:rror|RROR)(?:\[\w+\]|\s[A-Z]{1,5}-?\d+)?\s?:\s?\S # gcc rustc tsc javac mypy pip
    |^\s*[^\s:()]+\.\w{1,5}:\d+(?::\d+)?:\s\S | ^\s*[^\s:()]+\.\w{1,5}\(\d+(?:,\d+)?\):\s\S  # go, linters; msvc
    |^\s+\d+:\d+\s+error\b                                       # eslint
    |\bpanic(?:ked)?\b(?::|\ at\b) | \bassert(?:ion)?\b.*\bfailed\b | \bAssertionError\b
    |\bundefined\ (?:reference|symbol)|\bunresolved\ external|\bmultiple\ definition\ of|\bduplicate\ symbol
    |\bcannot\ find\ (?:-l|symbol|module|package)|\bsymbol\(s\)\ not\ found
    |\bnpm\ (?:ERR!|error)\s+\S|\bERR_PNPM_|\bERESOLVE\b|^\[ERROR\]\s+\S|\bNo\ matching\ distribution
    |^\s*>\s(?:Could\ not|Cannot)\b                              # gradle: What went wrong
    |\bE(?:CONN\w+|ADDRINUSE|NOENT|ACCES|PERM|TIMEDOUT|NOTFOUND|PIPE|EXIST|NOSPC)\b
    |:\ (?:command\ )?not\ found\b|\b[Nn]o\ such\ (?:file|module|table|column|host)|\b[Pp]ermission\ denied
    |\bSegmentation\ fault|\bsegfault\b|\bcore\ dumped|\bOOM\b|\b[Oo]ut\ of\ memory|\bNo\ space\ left
    |\b[Aa]ddress\ already\ in\ use|\b[Cc]onnection\ (?:refused|reset|timed\ out)|\bSyntax\s?[Ee]rror
    |\b(?:FATAL|CRITICAL|SEVERE|EMERG|PANIC)\b|\blevel"?[=:]\s?"?(?:error|fatal|panic)\b|\[(?:error|crit|alert|emerg)\]
    |(?:错误|异常|失败|报错|致命)[^::\n]{0,12}[::]\s*\S|未定义的?(?:引用|符号|变量|标识符)|断言失败|语法错误|段错误|内存不足
    |没有(?:那个|该)(?:文件|目录|命令|模块)|找不到(?:文件|模块|命令|符号|包|类|头文件)|权限不够|拒绝(?:连接|访问)|(?:连接|请求)超时
    |地址已被?占用|端口.{0,8}占用
    """, re.VERBOSE)
_SUSPECT = re.compile(r"""
    ^(?:---\s)?(?:FAIL|FAILED|ERROR|not\ ok)\b|^\s*(?:✗|✕|✖|×|●|❌)\s|\.\.\.\ ?(?:FAIL|FAILED|ERROR)\b
    |\b(?:error|failed|failure|fatal|exception|cannot|refused|denied|aborted|killed|timeout|timed\ out|invalid)s?\b
    |\b(?:Expected|Received|expected|actual|got|want|left|right):\s | "\s5\d\d\s|\b5\d\d\ (?:Internal\ Server|Bad\ Gateway|Service\ Unavail|Gateway\ Time)
    |\bexit(?:ed)?(?:\ with)?(?:\ (?:code|status))?[\ =:]+[1-9] | Traceback\ \(most\ recent
    |错误|失败|异常|致命|崩溃|无法|不存在|未找到|找不到|拒绝|超时|越界|溢出|不匹配|未通过
    """, re.VERBOSE | re.IGNORECASE)
_WARNING = re.compile(r"\bwarn(?:ing|ings)?\b(?!\.)|\bdeprecat|警告", re.IGNORECASE)
_NOTE = re.compile(r"\b(?:note|help|hint|info|debug)\b\s?[:\]]|(?:提示|附注)[::]|complete log of this run",
                   re.IGNORECASE)
# What denies that anything is wrong is taken out of a line before it is judged.
_NOTHING = re.compile(r"""
    \b(?:no|0|zero|without)\s(?:\w+\s)?(?:errors?|failures?|failed|failing|exceptions?|warnings?|problems?)\b
    |\b(?:errors?|failures?|failed|failing|warnings?|skipped)"?\s?[:=]\s?(?:0\b|\(?none\b\)?|null\b|nil\b|\[\])
    |(?:没有|无|0\s?个)(?:任何)?(?:错误|失败|异常|警告) | (?:错误|失败|异常|警告)(?:数)?\s?[::]\s?0\b
    """, re.VERBOSE | re.IGNORECASE)
_PASSED = re.compile(r"(?:\.\.\.\s?ok|\bPASS(?:ED)?|✓|✔|√|通过)\s*(?:\[\s*\d+%\]|\(.*\)|[\d.]+\s?m?s)?\s*$|^\s*(?:ok|PASS|✓|✔|√)\s"
                     r"|^(?:---\s)?PASS\b")
_PLACE = re.compile(r"""^\s*File\ "[^"]+",\ line\ \d+|^\s*-->\s\S+:\d+|^\s+at\s.*:\d+\)?$|^\s+\S+\.\w{1,5}:\d+(?::\d+|\s\+0x|:?\s|$)
    |^\S+\.\w{1,5}:\d+(?::|$)""", re.VERBOSE)
_LIBRARY = re.compile(r"(?:site|dist)-packages|node_modules|/lib/python\d|<frozen |node:|internal/|/rustc/|\.cargo/"
                      r"|/usr/(?:local/)?(?:lib|go|include)|\bat (?:java|javax|jdk|sun|org\.junit|org\.apache|kotlin)\.")

# A line without any of these is not looked at closer: finding them in a whole output is
# a hundred times faster than judging each of its lines.
_HINTS = """err fail exception interrupt systemexit stackoverflow panic assert undefined unresolved
    multiple duplicate cannot not_found no_matching could_not econn eaddr enoent eacces eperm
    etimedout epipe eexist enospc eresolve no_such denied segm segfault core_dumped oom memory
    no_space address_already connection syntax fatal critical severe emerg alert crit] not_ok
    refused abort killed timeout timed_out invalid expected: received: actual: got: want: left:
    right: "_5 internal_server bad_gateway service_unavail gateway_time exit traceback
    warn deprec ✗ ✕ ✖ × ● ❌ 错误 异常 失败 报错 致命 未定义 断言 语法 段错 内存 没有 找不到 权限 拒绝 超时 占用
    崩溃 无法 不存在 未找到 越界 溢出 不匹配 未通过 警告"""
_WORDS = tuple(hint.replace("_", " ") for hint in _HINTS.split())
_FORMS = re.compile(r"\.\w{1,5}[:(]\d|\ne(?:  |\t|: )")  # a.go:27:15: or a line of pytest or apt
_DIGITS = re.compile(r"\d+")

STATED, SUSPECT, REMARK = 3, 2, 1
_NEAR = 12       # lines between what is wrong and where, at most
_LOOK = 400      # characters of a line that are looked at
_JUDGED = 500    # lines that are judged at each end of an output, of those with a hint
_POINTS = 100    # lines that are given back


def error_weight(line: str) -> int:
    """How much a line looks like the point of an output: 3 it says what is wrong,
    2 it says that something is, 1 it is a warning, 0 none of these."""
    line = line[:_LOOK]
    if _PASSED.search(line):
        return 0
    line = _NOTHING.sub("", line)
    if _NOTE.search(line):
        return 0
    if _WARNING.search(line):
        return REMARK
    if _STATED.search(line):
        return STATED
    return SUSPECT if _SUSPECT.search(line) else 0


def error_points(rows: Sequence[str]) -> list[int]:
    """Indexes of the rows that say what is wrong and where, the most telling first.

    At most 100. Behind each row that states a fault comes the nearest row of the
    project's own (not a library's) that says where. Of rows that differ in their
    digits only, the first stands for all.
    """
    weights = {at: error_weight(rows[at]) for at in _candidates(rows)}
    order = sorted((at for at in weights if weights[at]), key=lambda at: (-weights[at], at))
    seen: set[str] = set()
    found: dict[int, None] = {}
    for at in order:
        shape = _DIGITS.sub("0", rows[at][:_LOOK].strip())
        if shape in seen:
            continue
        seen.add(shape)
        found[at] = None
        if weights[at] == STATED and (place := _place_of(rows, at)) is not None:
            found[place] = None
        if len(found) >= _POINTS:
            break
    return list(found)


def _candidates(rows: Sequence[str]) -> list[int]:
    """Indexes, rising, of the rows that hold a hint; of very many, those at both ends."""
    heads = [row[:_LOOK].lower() for row in rows]
    text = "\n" + "\n".join(heads) + "\n"
    starts = list(accumulate((len(head) + 1 for head in heads), initial=1))
    places = sorted({bisect_right(starts, at) - 1 for at in _hits(text)})
    return places if len(places) <= 2 * _JUDGED else places[:_JUDGED] + places[-_JUDGED:]


def _hits(text: str) -> Iterator[int]:
    """Where a hint stands in a lower-case text, once a line and hint."""
    for word in _WORDS:
        at = text.find(word)
        while at >= 0:
            yield at
            at = text.find(word, text.find("\n", at))
    yield from (match.end() - 1 for match in _FORMS.finditer(text))


def _place_of(rows: Sequence[str], index: int) -> int | None:
    """The row nearest to `index` that names a file and line of the project."""
    if _PLACE.search(rows[index][:_LOOK]):
        return None  # it says so itself
    near = range(max(0, index - _NEAR), min(len(rows), index + _NEAR + 1))
    return min((at for at in near if _PLACE.search(rows[at][:_LOOK])
                and not _LIBRARY.search(rows[at][:_LOOK])),
               key=lambda at: (abs(at - index), at), default=None)
