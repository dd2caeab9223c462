"""Milestone 3: what a window works with, whatever governs it."""

from __future__ import annotations

from dataclasses import dataclass

from ..models.base import Model
from ..trace import Tracer
from .index import HistoryIndex
from .scene import Shelf


@dataclass(frozen=True)
class Means:
    """`model` writes summaries, `tracer` takes the records, `shelf` keeps what leaves the
    view; an `index` of the history is given where several windows share one."""

    model: Model
    tracer: Tracer
    shelf: Shelf | None = None
    index: HistoryIndex | None = None
