"""Milestone 3: what a window works with, whatever governs it."""

from __future__ import annotations

from dataclasses import dataclass

from ..models.base import Model
from ..trace import Tracer
from .index import HistoryIndex
from .scene import Store


@dataclass(frozen=True)
class Resources:
    """`model` writes summaries, `tracer` takes the records, `store` keeps what leaves the
    view; an `index` of the history is given where several windows share one."""

    model: Model
    tracer: Tracer
    store: Store | None = None
    index: HistoryIndex | None = None
