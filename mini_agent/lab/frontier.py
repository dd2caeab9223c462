"""Milestone 6: cost against far recall, as a picture that stands alone.

One panel per window, on the same scale. Ours are joined by a line; a known policy has its
name if it is on the frontier: no other known one keeps more for less.
"""

from __future__ import annotations

from string import Template

from ..columns import number_of
from .panel import BOTTOM, HEIGHT, LEFT, TOP, Look, on_frontier, panel, scale_of, width_of
from .study import FAR, KNOWN, OURS, Study

_PAGE = Template("""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 $width $height" font-family="sans-serif" \
font-size="11">
<title>Cost and far recall of context policies</title>
<style>
.title { font-weight: bold; fill: #222222; } .tick { fill: #444444; }
.axis { fill: none; stroke: #444444; } .grid { stroke: #eeeeee; } .lead { stroke: #bbbbbb; }
.joined { fill: none; stroke: #1f6fd0; stroke-width: 1.5; }
.name { fill: #777777; } .strong.name { fill: #1f6fd0; }
.dot { fill: #b3261e; } .strong.dot { fill: #1f6fd0; }
</style>
<rect width="100%" height="100%" fill="#ffffff"/>
<text class="title" x="$left" y="20" font-size="14">Far recall (up) \
against cost (right), relative to no compression, summaries paid in full</text>
$panels
</svg>
""")


def frontier_svg(study: Study) -> str:
    """The picture of all windows at which sessions count; the same bytes for the same study."""
    points = {window: {name: (study.paid(window, name), far) for name in (*KNOWN, *OURS)
                       if (far := study.cell(window, name)[FAR]) is not None}
              for window in study.windows}
    scale = scale_of(points.values())
    panels = [panel(number, f"window {window}, {number_of(len(study.counted(window)), 'session')}",
                    found, scale, Look(OURS, {*OURS, *on_frontier(
                        {name: found[name] for name in KNOWN if name in found})}))
              for number, (window, found) in enumerate(points.items())]
    return _PAGE.substitute(width=width_of(len(panels)), height=TOP + HEIGHT + BOTTOM,
                            left=LEFT, panels="\n".join(panels))
