"""Milestone 3: what in a text is worth naming: identifiers, lines, error lines.

One definition for all who ask: the check of summaries (`compression/verify.py`),
the clipping that keeps the point of an output, and later the digest and the
measure of evidence. What it leaves out: any judgement of what a word is worth.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_WORD = re.compile(r"(?:~?/|\.{1,2}/)?[A-Za-z0-9_][A-Za-z0-9_./\-]*[A-Za-z0-9_]"
                   r"|[\u3400-\u9fff]{4,}")
_TELLING = re.compile(r"[_./]|[0-9]|[a-z0-9][A-Z]|[\u3400-\u9fff]")
_NUMBER = re.compile(r"[0-9][0-9.,]*")
_QUOTED = re.compile(r"`([^`\n]{2,200})`|\"([^\"\n]{2,200})\"|「([^」\n]{2,200})」|“([^”\n]{2,200})”")

MIN_WORD, MAX_WORD, MAX_HAN = 3, 200, 24
MIN_LINE, MAX_LINE = 12, 400

# Telling by their form, but general knowledge: nobody has to look them up.
GENERAL = frozenset("""
    e.g i.e etc. a.m p.m U.S No.1 utf-8 UTF-8 utf8 UTF8 utf_8 ascii-8bit latin-1 iso-8859-1
    base64 sha1 sha256 md5 x86_64 arm64 amd64 int32 int64 uint8 float32 float64 HTTP/1.1
    /dev/null /dev/stdin /dev/stdout /dev/stderr /tmp /usr /bin /etc /home /root /bin/sh
    /bin/bash /usr/bin /usr/bin/env /usr/local /usr/local/bin ./ ../ 0.0.0.0 127.0.0.1
    localhost:8080 __init__ __init__.py __main__ __name__ __file__ __dict__ __doc__ __class__
    __str__ __repr__ os.path os.environ sys.argv sys.path sys.exit self.assertEqual
    JavaScript TypeScript GitHub python3 Python3 node.js Node.js package.json README.md
    console.log null_value is_null JSON.stringify JSON.parse I/O TCP/IP 2>&1 0000 1000
""".split())


def words(text: str) -> Iterator[str]:
    """Paths, identifiers, long numbers and runs of four and more CJK characters.

    3 to 200 characters; numbers only from 4 digits on; a word of plain letters
    counts only with `_ . /`, a digit or an inner capital; CJK is cut at 24. The
    rule is that of the evidence measure, so that all parts mean the same.
    """
    for match in _WORD.finditer(text):
        word = match.group().rstrip(".")
        if not MIN_WORD <= len(word) <= MAX_WORD or not _TELLING.search(word):
            continue
        if word.isdigit() and len(word) < 4:
            continue
        yield word[:MAX_HAN] if word[0] >= "\u3400" else word


def pieces(text: str) -> set[str]:
    """All that `words` would give for a text, and plain words and numbers besides.

    Faster than `words`, for the question which known words a text has.
    """
    found = set(_WORD.findall(text))
    return found if text.isascii() else {
        word[:MAX_HAN] if word[0] >= "\u3400" else word for word in found}


def lines(text: str) -> Iterator[str]:
    """Stripped lines of 12 to 400 characters that have a blank in them."""
    for line in text.splitlines():
        line = line.strip()
        if MIN_LINE <= len(line) <= MAX_LINE and " " in line:
            yield line


def numbers(text: str) -> Iterator[str]:
    """Every number of two and more digits, as it is written."""
    for match in _NUMBER.finditer(text):
        number = match.group().rstrip(".,")
        if len(number) > 1:
            yield number


def quoted(text: str) -> Iterator[str]:
    """Every string of 2 to 200 characters that stands in quotes or backticks."""
    for match in _QUOTED.finditer(text):
        yield next(part for part in match.groups() if part is not None)


# What a line says is wrong, in the words of compilers, linkers, test runners, package
# managers, type checkers, servers and shells. `_STATED` names the fault itself,
# `_SUSPECT` says that there is one, `_REMARK` is a diagnostic of a lower kind.
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
    |\b(?:Expected|Received|expected|actual|got|want|left|right):\s | "\s5\d\d\s|\b5\d\d\ (?:Internal|Bad|Service|Gateway)
    |\bexit(?:ed)?(?:\ with)?(?:\ (?:code|status))?[\ =:]+[1-9] | Traceback\ \(most\ recent
    |错误|失败|异常|致命|崩溃|无法|不存在|未找到|找不到|拒绝|超时|越界|溢出|不匹配|未通过
    """, re.VERBOSE | re.IGNORECASE)
_REMARK = re.compile(r"\bwarn(?:ing|ings)?\b(?!\.)|\bdeprecat|\b(?:note|help|hint|info|debug)\b\s?[:\]]|警告|提示[::]"
                     r"|complete log of this run", re.IGNORECASE)
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

STATED, SUSPECT, REMARK = 3, 2, 1
_NEAR = 12      # lines between what is wrong and where, at most
_LOOK = 1_000   # characters of a line that are looked at


def error_weight(line: str) -> int:
    """How much a line looks like the point of an output: 3 it says what is wrong,
    2 it says that something is, 1 it is a warning or note, 0 none of these."""
    line = line[:_LOOK]
    if _PASSED.search(line):
        return 0
    line = _NOTHING.sub("", line)
    if _REMARK.search(line):
        return REMARK
    if _STATED.search(line):
        return STATED
    return SUSPECT if _SUSPECT.search(line) else 0


def error_points(rows: Sequence[str]) -> list[int]:
    """Indexes of the rows that say what is wrong and where, the most telling first.

    Behind each row that states a fault comes the nearest row of the project's own
    (not a library's) that says where. Of rows that differ in their digits only,
    the first stands for all.
    """
    weights = [error_weight(row) for row in rows]
    order = sorted((index for index, weight in enumerate(weights) if weight),
                   key=lambda index: (-weights[index], index))
    seen: set[str] = set()
    found: dict[int, None] = {}
    for index in order:
        shape = _DIGITS.sub("0", rows[index].strip())
        if shape in seen:
            continue
        seen.add(shape)
        found[index] = None
        if weights[index] == STATED and (place := _place_of(rows, index)) is not None:
            found[place] = None
    return list(found)


def _place_of(rows: Sequence[str], index: int) -> int | None:
    """The row nearest to `index` that names a file and line of the project."""
    if _PLACE.search(rows[index][:_LOOK]):
        return None  # it says so itself
    near = range(max(0, index - _NEAR), min(len(rows), index + _NEAR + 1))
    return min((at for at in near if _PLACE.search(rows[at][:_LOOK])
                and not _LIBRARY.search(rows[at][:_LOOK])),
               key=lambda at: (abs(at - index), at), default=None)


_DIGITS = re.compile(r"\d+")


def rows_of(text: str) -> list[str]:
    """The lines of a text without their ends. Only "\\n" ends one, as in every editor's count."""
    rows = text.split("\n")
    return rows[:-1] if rows[-1] == "" else rows
