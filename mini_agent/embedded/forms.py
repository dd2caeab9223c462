"""Milestone 6: the two forms in which agents keep their messages.

A form takes a message of the agent's apart into ours, each with the part that it came
from, and builds requests from such parts: what no policy has touched goes out as it came,
with its images, its reasoning and its ids. What is left out: the forms themselves
(`chat.py`, `blocks.py`), and which of it is sent (`window.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from ..errors import UsageError
from ..messages import Call, Message
from .blocks import BlockForm
from .chat import ChatForm
from .given import Given
from .parts import Calls, Piece


class Form(Protocol):
    """Translates between the messages of one protocol and ours."""

    def pieces(self, given: Given, waiting: Calls, place: str) -> Iterator[Piece]:
        """A message of the agent as messages of ours, each with the part that it comes from.
        `waiting` are the calls without a result; those that it answers are removed from it.
        `UsageError` with the place for an unknown role, or a result of no waiting call."""

    def text(self, part: Given) -> str:
        """The text of the part of a piece, without its calls and its reasoning."""

    def user_message(self, text: str) -> Given:
        """A user message with a text of ours."""

    def shortened(self, part: Given, text: str) -> Given:
        """A copy of a result or a user's message, its content replaced by a text."""

    def joined(self, one: Given, other: Given, apart: bool) -> Given | None:
        """Two neighbouring messages of a request as one; None where they stay two. `apart`:
        they are not neighbours in the agent's own list."""

    def declaration(self, tool: Given) -> dict[str, Any]:
        """The declaration, in our form, of a tool of the agent."""

    def tool(self, declaration: Mapping[str, Any], own: Given) -> Given:
        """A declaration of ours in the form of the protocol, with all other fields of the
        agent's `own` tool."""

    def call(self, made: Given) -> Call:
        """A call that the model has made, in our form."""

    def result(self, result: Message) -> Given:
        """A result of ours in the form of the protocol."""

    def usage(self, counted: Mapping[str, Any]) -> dict[str, int] | None:
        """The tokens in an endpoint's report of usage; None if there are none in it."""


def form_of(provider: str) -> Form:
    """The form of a provider's protocol, named as in live use. `UsageError` for another name."""
    forms: dict[str, Form] = {"openai": ChatForm(), "anthropic": BlockForm()}
    if provider not in forms:
        raise UsageError(f"no provider {provider!r}", place="provider", value=provider,
                         remedy=f"use {' or '.join(forms)}")
    return forms[provider]
