// The strip of the window: a bar for each step, with a block for each entry as wide as its tokens.

const STRIP_ROWS = 21;

/** An element with a class and a text; texts never become markup. */
function make(tag, name = "", text = null) {
  const element = document.createElement(tag);
  if (name) element.className = name;
  if (text !== null) element.textContent = text;
  return element;
}

/** A count with its noun: `1 step`, `2 steps`. */
function numberOf(count, noun) {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** The class that gives an entry its colour. */
function roleOf(entry) {
  return entry.how === "attached" ? "attached" : entry.role;
}

function drawLegend(place) {
  place.replaceChildren();
  for (const role of ["system", "user", "assistant", "tool", "attached"]) place.append(make("span", role, role));
  place.append(make("span", "tool shortened", "shortened"), make("span", "user summary", "summary"));
}

/** Some steps around the chosen one; `choose(step)` is called on a click. */
function drawStrip(place, session, run, step, choose) {
  const first = Math.max(0, Math.min(step - (STRIP_ROWS >> 1), run.tokens.length - STRIP_ROWS));
  const last = Math.min(run.tokens.length, first + STRIP_ROWS);
  let scale = run.window || 1;
  for (let s = first; s < last; s++) scale = Math.max(scale, run.tokens[s]);
  place.replaceChildren();
  for (let s = first; s < last; s++) {
    const row = make("div", "strip-row" + (s === step ? " now" : ""));
    row.append(make("span", "step", String(s)), drawBar(viewAt(session, run, s), run, scale));
    row.title = `step ${s}: ${numberOf(run.tokens[s], "token")}`;
    row.addEventListener("click", () => choose(s));
    place.append(row);
  }
}

function drawBar(view, run, scale) {
  const bar = make("div", "bar");
  for (const entry of view) {
    const block = make("div", `block ${roleOf(entry)} ${entry.how}`);
    block.style.width = `${100 * entry.tokens / scale}%`;
    bar.append(block);
  }
  if (run.window) {
    const edge = make("div", "edge");
    edge.style.left = `${Math.min(99.7, 100 * run.window / scale)}%`;
    bar.append(edge);
  }
  return bar;
}
