"""Every error that mini-agent raises on purpose, in one tree.

    MiniAgentError
    |-- UsageError            what the user gave is wrong: one line, exit status 2
    |   `-- TaskFileError     a field of a task or policy file is wrong
    |-- TraceError            a trace cannot be read, folded or written
    |-- ContextOverflowError  the view is over the hard limit and nothing may move
    |-- LawError              a change would break a law (`compression/laws.py`)
    |-- StrategyError         a strategy could not make its proposal
    |   `-- SummaryRefused        a summary was written, and cannot be used
    |-- ModelError            the model gave no usable reply
    |   |-- EmptyReplyError       neither text nor calls
    |   |-- ScriptExhaustedError  a scripted model has no replies left
    |   |-- BudgetSpentError      the tokens that may be sent in all are spent
    |   |-- PromptTooLongError    the endpoint says that the request does not fit
    |   `-- EndpointError         the endpoint refused, broke off or could not be reached
    `-- ToolError             a tool call failed; it goes back to the model

    KeyboardInterrupt         of Python: no handler of errors catches it
    `-- ToolInterrupted       Ctrl-C in a tool that can say how far it has come

A message says where (`place`), what was found (`value`) and what to do (`remedy`), and
carries the three as attributes, so that nobody parses prose. An error that ends a run
also has a `reason`, which stands in the `run_end` record.
"""

from __future__ import annotations

from typing import Any

DONE, FAILED, WRONG_USE, INTERRUPTED = 0, 1, 2, 130  # exit statuses of the program
BUILT_WITH_IT = "use a Python that was built with it"  # where it lacks a standard module
LONGEST = 400  # characters of a place, or of what is wrong there: either may come from a stranger


class MiniAgentError(Exception):
    """The root. `str(error)` is one line: place, message, remedy."""

    def __init__(self, message: str, *, place: str = "", value: Any = None,
                 remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.place = place
        self.value = value
        self.remedy = remedy

    def __str__(self) -> str:
        place, message = map(_short, (self.place, self.message))
        text = f"{place}: {message}" if place else message
        text = f"{text}; {self.remedy}" if self.remedy else text
        return " ".join(text.split())


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}... ({len(text)} characters)"


class UsageError(MiniAgentError):
    """The user asked for something that cannot be; the program exits with 2."""


class TaskFileError(UsageError):
    """A task or policy file has a wrong field; `place` is file and path."""


class TraceError(MiniAgentError):
    """A trace is broken at a line, does not fold, or cannot be written."""

    reason = "trace_failed"


class ContextOverflowError(MiniAgentError):
    """The view is over the hard limit.

    `tokens` and `limit` are in tokens; `immovable` lists what may not move as
    (name, tokens), the largest first.
    """

    reason = "overflow"

    def __init__(self, message: str, *, tokens: int, limit: int,
                 immovable: list[tuple[str, int]], **where: Any) -> None:
        super().__init__(message, value=tokens, **where)
        self.tokens = tokens
        self.limit = limit
        self.immovable = immovable


class LawError(MiniAgentError):
    """A change would break law number `law`; the view stays as it was."""

    def __init__(self, law: int, message: str, **where: Any) -> None:
        super().__init__(f"law {law}: {message}", **where)
        self.law = law


class StrategyError(MiniAgentError):
    """A strategy failed half-way (summariser raised, disk full): no change."""


class SummaryRefused(StrategyError):
    """A summary is empty, no summary at all, or says what nothing supports."""


class ModelError(MiniAgentError):
    """The model could not be asked, or its reply cannot be used."""

    reason = "model_error"


class EmptyReplyError(ModelError):
    """A reply with neither text nor calls."""


class ScriptExhaustedError(ModelError):
    """The scripted model was asked once more than it has replies."""

    reason = "script_exhausted"


class BudgetSpentError(ModelError):
    """The tokens that a run may send in all are spent."""

    reason = "token_limit"


class PromptTooLongError(ModelError):
    """The endpoint refused the request for its length.

    `window` is the limit that its message named, `tokens` the size that it named
    of what was refused; both in tokens, None where it did not say.
    """

    def __init__(self, message: str, *, window: int | None = None,
                 tokens: int | None = None, **where: Any) -> None:
        super().__init__(message, **where)
        self.window = window
        self.tokens = tokens


class EndpointError(ModelError):
    """The endpoint refused, broke off or could not be reached.

    `status` is the HTTP status, or a word where there was none: "unreachable",
    "connection", "timeout", "broken". `transient`: the same request may succeed later.
    `wait` is how many seconds the endpoint asked to wait, None if it did not say.
    """

    def __init__(self, message: str, *, status: int | str, transient: bool = False,
                 wait: float | None = None, **where: Any) -> None:
        super().__init__(message, value=status, **where)
        self.status = status
        self.transient = transient
        self.wait = wait


class ToolError(MiniAgentError):
    """A tool call failed: `code` for programs, `message` for the model.

    `details` is text that belongs under the message, such as a command's output.
    """

    def __init__(self, code: str, message: str, details: str = "",
                 **where: Any) -> None:
        super().__init__(message, **where)
        self.code = code
        self.details = details


class ToolInterrupted(KeyboardInterrupt):
    """The user has interrupted a tool call; `error` is its result, with what came so far."""

    def __init__(self, error: ToolError) -> None:
        super().__init__(error.message)
        self.error = error
