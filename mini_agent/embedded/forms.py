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
    """How an agent keeps its messages: as the endpoints of one protocol take them."""

    def pieces(self, given: Given, waiting: Calls, place: str) -> Iterator[Piece]:
        """A message of the agent, taken apart. `waiting` are the calls that have no result yet;
        those that it answers are taken out. `UsageError` with the place where it is of no known
        role, or a result of none of them."""

    def text(self, part: Given) -> str:
        """What the part of a piece says, without its calls and its reasoning."""

    def made(self, text: str) -> Given:
        """A text of ours, as the user's."""

    def shortened(self, part: Given, text: str) -> Given:
        """A result or a user's message with a text in place of its own."""

    def both(self, one: Given, other: Given, apart: bool) -> Given | None:
        """Two neighbours as one message; None where they stay two. `apart`: the agent did not
        put them side by side."""

    def declaration(self, tool: Given) -> dict[str, Any]:
        """A tool of the agent in our form."""

    def tool(self, declaration: Mapping[str, Any], own: Given) -> Given:
        """A declaration as it is sent, with the other fields of the agent's own tool."""

    def call(self, made: Given) -> Call:
        """A call of the model."""

    def result(self, result: Message) -> Given:
        """A result of ours."""

    def usage(self, counted: Mapping[str, Any]) -> dict[str, int] | None:
        """What an endpoint has counted, None where it says nothing."""


def form_of(provider: str) -> Form:
    """The form of a provider's protocol, named as in live use. `UsageError` for another name."""
    forms: dict[str, Form] = {"openai": ChatForm(), "anthropic": BlockForm()}
    if provider not in forms:
        raise UsageError(f"no provider {provider!r}", place="provider", value=provider,
                         remedy=f"use {' or '.join(forms)}")
    return forms[provider]
