"""Milestone 3: which lines of an output say what is wrong, and where.

Clipping by position cuts the one line that matters; this is how it is known. The
rules are words and forms of compilers, linkers, test runners, package managers,
type checkers, servers and shells, in English and Chinese. What is left out: what
the error means, and errors that no line names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, compress, count, groupby, islice

# `_STATED` names the fault itself, `_SUSPECT` says only that there is one; `_WARNING` and
# `_NOTE` are diagnostics of a lower kind.
_STATED = re.compile(r"""
    ^(?:[\s|│]*(?:E\s+|Uncaught\s|Unhandled\s|Caused\ by:\s|Exception\ in\ thread\ "[^"]*"\s|\#\ |Error:\s)?
            [\w.$/]*(?:Error|Exception|Failure|Interrupt|SystemExit|StackOverflow)(?:\s[\[(]\w+[\])])?(?::\s|:?$)
        |E\s{2,}\S | [Ee]:\s\S | \s*\*\*\s\(\w+                     # pytest; apt, kotlin; elixir
        |\s+expect\((?:received|element|jest\.fn\(\))\)\.[^;]*$ | \s+thrown:\s  # jest
        |\s+\d+:\d+\s+error\b | \s*>\s(?:Could\ not|Cannot)\b       # eslint; gradle: What went wrong
        |\[ERROR\]\s+\S|CONFLICT\ \(|\#\#\[error\]|::error\b)
    |\b(?:(?:[Ff]atal\ )?[Ee](?:rror|RROR)(?:\[\w+\]|\s[A-Z]{1,5}-?\d+)?\s?:\s?\S  # gcc rustc tsc javac mypy pip
        |panic(?:ked)?\b(?::|\ at\b) | assert(?:ion)?\b.*\bfailed\b | AssertionError\b
        |[Uu]ndefined\ (?:reference|symbol)|unresolved\ external|multiple\ definition\ of|duplicate\ symbol
        |cannot\ find\ (?:-l|symbol|module|package)|symbol\(s\)\ not\ found
        |npm\ (?:ERR!|error)\s+\S|ERR_PNPM_|ERESOLVE\b|No\ (?:matching\ distribution|candidates\ found)
        |Merge\ conflict\ in\b|DATA\ RACE\b|[Ee]rror\ at\ \S+:\d+  # cmake
        |E(?:CONN\w+|ADDRINUSE|NOENT|ACCES|PERM|TIMEDOUT|NOTFOUND|PIPE|EXIST|NOSPC)\b
        |[Nn]o\ such\ (?:file|module|table|column|host)|[Pp]ermission\ denied
        |Segmentation\ fault|segfault\b|core\ dumped|OOM\b|[Oo]ut\ of\ memory|No\ space\ left
        |[Aa]ddress\ already\ in\ use|[Cc]onnection\ (?:refused|reset|timed\ out)|Syntax\s?[Ee]rror
        |(?:FATAL|CRITICAL|SEVERE|EMERG|PANIC)\b|level"?[=:]\s?"?(?:error|fatal|panic)\b)
    |\wSanitizer: | :\ (?:command\ )?not\ found\b | ",\ referenced\ from: | \(\w+(?:Error|Exception)\)$  # ruby
    |\[(?:error|crit|alert|emerg)\] | [\[【](?:错误|严重|致命|紧急)[\]】]
    |(?:错误|异常|失败|报错|致命)[^:\uff1a\n]{0,12}[:\uff1a]\s*\S|未定义的?(?:引用|符号|变量|标识符)|断言失败|语法错误|段错误|内存不足
    |没有(?:那个|该)(?:文件|目录|命令|模块)|找不到(?:文件|模块|命令|符号|包|类|头文件)|权限不够|拒绝(?:连接|访问)|(?:连接|请求)超时
    |地址已被?占用|端口.{0,8}占用
    """, re.VERBOSE)
# A place with something said of it: of go, linters, msvc. A frame of a traceback says nothing.
_REMARKED = re.compile(r"^\s*[^\s:()]+\.\w{1,5}(?::\d+(?::\d+)?|\(\d+(?:,\d+)?\)):\s(?!in \S+$)\S")
_TALLY = re.compile(  # of maven, of unittest, of node: what failed, not why
    r"\bTests run:|<<< (?:FAILURE|ERROR)!|^(?:ERROR|FAIL): \w+ \(\S+\)$|^\s+name: '\w+'$")
_ANNOUNCED = re.compile(r"\bTraceback \(most recent call last\):")
_SUSPECT = re.compile(r"""
    ^(?:(?:---\s)?(?:FAIL|FAILED|ERROR|not\ ok)\b|\s*(?:✗|✕|✖|×|●|❌)\s)|\.\.\.\ ?(?:FAIL|FAILED|ERROR)\b
    |\b(?:(?:error|failed|failure|fatal|exception|cannot|refused|denied|aborted|killed|timeout|timed\ out|invalid)s?\b
        |(?:can't|couldn't|unable\ to|mismatch(?:ed)?|conflicts?|unsupported|violat(?:es|ed|ion))\b
        |(?:Expected|Received|actual|got|want|left|right|Which\ is):\s
        |5\d\d\ (?:Internal\ Server|Bad\ Gateway|Service\ Unavail|Gateway\ Time)
        |exit(?:ed)?(?:\ with)?(?:\ (?:code|status))?[\ =:]+[1-9])
    | "\s5\d\d\s
    |错误|失败|异常|致命|崩溃|无法|不存在|未找到|找不到|拒绝|超时|越界|溢出|不匹配|未通过|不可用
    """, re.VERBOSE | re.IGNORECASE)
_WARNING = re.compile(r"\bwarn(?:ing|ings)?\b(?!\.|: (?:data race|\w+sanitizer))|\bdeprecat|警告",
                      re.IGNORECASE)
_NOTE = re.compile(r"\b(?:note|help|hint|info|debug)\b\s?[:\]]|(?:提示|附注)[:\uff1a]"
                   r"|complete log of this run", re.IGNORECASE)
_LEVEL = re.compile(r"\b(?:error|fatal)\b|错误|致命", re.IGNORECASE)  # in front of what it is of
# What denies that anything is wrong is taken out of a line before it is judged.
_NOTHING = re.compile(r"""
    \b(?:(?:no|0|zero|without)\s(?:\w+\s)?(?:errors?|failures?|failed|failing|exceptions?|warnings?|problems?)\b
        |(?:errors?|failures?|failed|failing|warnings?|skipped)"?\s?[:=]\s?(?:0\b|\(?none\b\)?|null\b|nil\b|\[\]))
    |(?:(?:没有|无|0\s?个)(?:任何)?(?:错误|失败|异常|警告) | (?:错误|失败|异常|警告)(?:数)?\s?[:\uff1a]\s?0\b)
    """, re.VERBOSE | re.IGNORECASE)
_PASSED = re.compile(r"(?:\.\.\.\s?ok|\bPASS(?:ED)?|✓|✔|√|通过)"
                     r"\s*(?:\[\s*\d+%\]|\(.*\)|[\d.]+\s?m?s)?\s*$"
                     r"|^\s*(?:ok|PASS|✓|✔|√)\s|^(?:---\s)?PASS\b")
_PLACE = re.compile(r"""
    ^[\s|│]*File\ "[^"]+",\ line\ \d+ | ^\s*-->\s\S+:\d+ | ^\s+at\s.*:\d+\)?$ | ^[\s|│]*on\ \S+\ line\ \d+
    |^\s+(?:[❯\#]\s+)?\S+\.\w{1,5}:\d+(?::\d+|:in\b|\s\+0x|:?\s|$) | ^\s*\#\d+\s.*\.\w{1,5}(?::\d+|\(\d+\))
    |^\s+\S[^()]*\s\(\S+\.\w{1,5}:\d+:\d+\)$ | ^\S+\.\w{1,5}:\d+(?::|$)  # a frame in a TAP of node
    """, re.VERBOSE)
_INSIDE = re.compile(r"\.[A-Za-z]\w{0,4}:\d+:\d+")  # a place in the middle of a line
_BELOW = re.compile(r"^\s+(?:at|❯)\s|:\d+:\d+\)$")  # frames below what was wrong: of node, of java
_THROWN = re.compile(r"^\s*(?:Uncaught )?[A-Z][\w.$]*(?: [\[(]\w+[\])])?(?::\s|$)")
_GOES_ON = re.compile(r"(?:[:\uff1a]|: ?[|>]-?)\s*$|^\s+(?:expect\(.*\)\.|Expected\b.*:\s)")
_LIBRARY = re.compile(
    r"(?:site|dist)-packages|node_modules|/lib/python\d|<frozen |node:|\(internal/|/rustc/|\.cargo/"
    r"|/usr/(?:local/)?(?:lib|go|include|share)"
    r"|\bat (?:java|javax|jdk|sun|kotlin|reactor|io\.netty"
    r"|com\.(?:sun|mysql|zaxxer|fasterxml|google)"
    r"|org\.(?:junit|apache|springframework|hibernate|postgresql|gradle|eclipse))\.")

# A line without any of these is not looked at closer: finding them is ten times faster
# than judging a line.
_HINTS = """err fail exception interrupt systemexit stackoverflow panic assert undefined unresolved
    multiple duplicate cannot not_found no_matching could_not econn eaddr enoent eacces eperm
    etimedout epipe eexist enospc eresolve no_such denied segm segfault core_dumped oom memory
    no_space address_already connection syntax fatal critical severe emerg alert crit] not_ok
    refused abort killed timeout timed_out invalid expected: received: actual: got: want: left:
    right: "_5 internal_server bad_gateway service_unavail gateway_time exit traceback
    warn deprec ✗ ✕ ✖ × ● ❌ 错误 异常 失败 报错 致命 未定义 断言 语法 段错 内存 没有 找不到 权限 拒绝 超时 占用
    崩溃 无法 不存在 未找到 越界 溢出 不匹配 未通过 警告 严重 紧急 不可用
    referenced_from no_candidates conflict race sanitizer can't couldn't unable_to mismatch
    unsupported violat which_is: expect( thrown: **_("""
_FORMS = re.compile(r"\.\w{1,5}[:(]\d|^e(?:  |\t|: )")  # a.go:27:15: or a line of pytest or apt
# By their first letters: all that begin otherwise are passed at once.
_HINTED = re.compile("|".join(
    f"{re.escape(start)}(?:{'|'.join(re.escape(hint[1:]) for hint in hints)})" for start, hints
    in groupby(sorted(hint.replace("_", " ") for hint in _HINTS.split()),
               key=lambda hint: hint[0])))
_DIGITS = re.compile(r"\d+")

STATED, SUSPECT, REMARK = 3, 2, 1
_NEAR = 30       # lines between what is wrong and where, at most
_FRAMES = 300    # lines of a traceback, at most
_LOOK = 400      # characters of a line that are looked at
_JUDGED = 500    # lines that are judged at each end of an output, of those with a hint
_POINTS = 100    # faults that are given back
_KNOWN = 2**12   # lines that are not judged again


def error_weight(line: str) -> int:
    """How much a line looks like the point of an output: 3 it says what is wrong,
    2 it says that something is, 1 it is a warning, 0 none of these."""
    return _weight(line[:_LOOK])


def _weight(line: str) -> int:
    if _PASSED.search(line):
        return 0
    line = _NOTHING.sub("", line)
    level = _LEVEL.search(line)
    told = level.start() if level else len(line)
    for lower, weight in ((_NOTE, 0), (_WARNING, REMARK)):
        if (found := lower.search(line)) and found.start() < told:
            return weight
    if _ANNOUNCED.search(line):
        return REMARK
    if _STATED.search(line) or _REMARKED.search(line) and not _LIBRARY.search(line):
        return SUSPECT if _TALLY.search(line) else STATED
    return SUSPECT if _SUSPECT.search(line) else 0


def _is_hinted(line: str) -> bool:
    line = line.lower()
    return bool(_HINTED.search(line) or _FORMS.search(line))


class ErrorLines:
    """Finds the lines of outputs that say what is wrong. It knows what it has judged lately:
    outputs repeat what files and outputs had."""

    def __init__(self) -> None:
        self._weight = lru_cache(_KNOWN)(_weight)
        self._is_hinted = lru_cache(_KNOWN)(_is_hinted)

    def points(self, rows: Sequence[str]) -> list[int]:
        """Indexes of the rows that say what is wrong and where, the most telling first."""
        return list(dict.fromkeys(chain.from_iterable(self.faults(rows))))

    def faults(self, rows: Sequence[str]) -> list[list[int]]:
        """Each fault that an output reports, the most telling first: indexes of its rows.

        At most 100. After a row that states a fault come those that it announces, and the
        nearest row of the project's own (not a library's) that says where.
        Of rows that differ in their digits only, the first stands for all.
        """
        weights = {at: self._weight(rows[at][:_LOOK]) for at in self._candidates(rows)}
        weights.update([(at, STATED) for at in _raised(rows, weights)])
        order = sorted((at for at in weights if weights[at]), key=lambda at: (-weights[at], at))
        shapes: dict[str, int] = {}
        for at in order:
            shapes.setdefault(_DIGITS.sub("0", rows[at][:_LOOK].strip()), at)
        return [[at, *(chain(_told_below(rows, at), _place_of(rows, at))
                       if weights[at] == STATED else ())]
                for at in islice(shapes.values(), _POINTS)]

    def _candidates(self, rows: Sequence[str]) -> list[int]:
        """Indexes, rising, of the rows that hold a hint; of very many, those at both ends."""
        places = list(compress(count(), map(self._is_hinted, (row[:_LOOK] for row in rows))))
        return places if len(places) <= 2 * _JUDGED else places[:_JUDGED] + places[-_JUDGED:]


def _raised(rows: Sequence[str], candidates: Iterable[int]) -> Iterator[int]:
    """The rows with which Python's tracebacks end, and above the frames of node: an exception,
    whatever its name."""
    for at in candidates:
        if at and _BELOW.search(rows[at][:_LOOK]) and _THROWN.search(rows[at - 1][:_LOOK]):
            yield at - 1
        margin, header, _ = rows[at].partition("Traceback (most recent call last):")
        if not header or margin.strip(" |"):
            continue
        for end in range(at + 1, min(len(rows), at + _FRAMES)):
            if rows[end].startswith(margin) and rows[end][len(margin):][:1].strip():
                yield end
                break


def _told_below(rows: Sequence[str], index: int) -> Iterator[int]:
    """The rows that say what one has only announced: with a colon at its end, or as jest does."""
    for at in range(index + 1, min(len(rows), index + 4)):
        if not _GOES_ON.search(rows[index]):
            return
        if rows[at].strip() and not _NOTE.search(rows[at]):
            yield at
            index = at


def _place_of(rows: Sequence[str], index: int) -> Iterator[int]:
    """The row nearest to `index` that names a file and line of the project."""
    def own(at: int) -> bool:
        row = rows[at][:_LOOK]
        return bool(_PLACE.search(row)) and not (
            _LIBRARY.search(row) or at < index and _BELOW.search(row))

    near = range(max(0, index - _NEAR), min(len(rows), index + _NEAR + 1))
    if not own(index) and (_LIBRARY.search(rows[index]) or not _INSIDE.search(rows[index])):
        yield from sorted(filter(own, near), key=lambda at: (abs(at - index), at))[:1]
