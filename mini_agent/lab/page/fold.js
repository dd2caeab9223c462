// The view of a step, computed from the history and the recorded changes. What is shortened or
// dropped was decided when the session was replayed, and never here.

/** The view after a change: without the entries `affected`, with `inserts` in rising order. */
function apply(view, change) {
  const gone = new Set(change.affected);
  const after = view.filter((entry, at) => !gone.has(at));
  for (const [at, entry] of change.inserts) after.splice(at, 0, entry);
  return after;
}

/** An entry for a message of the history, as it was. */
function verbatim(session, index) {
  const message = session.messages[index];
  return { ...message, stands_for: [index], how: "verbatim" };
}

/** The entries that the model was sent at `step`. */
function viewAt(session, run, step) {
  let view = [], taken = 0, next = 0;
  for (let s = 0; s <= step; s++) {
    for (; taken < session.steps[s]; taken++) view.push(verbatim(session, taken));
    for (; next < run.changes.length && run.changes[next].step === s; next++) {
      view = apply(view, run.changes[next]);
    }
  }
  return view;
}

/** What became of each history message: verbatim, shortened, summary or gone. */
function fates(view, count) {
  const fate = new Array(count).fill("gone");
  for (const entry of view) for (const index of entry.stands_for) fate[index] = entry.how;
  return fate;
}

/** Positions in the view of results without their call and calls without all results. */
function orphans(session, view) {
  const present = new Set();
  for (const entry of view) if (entry.stands_for.length === 1) present.add(entry.stands_for[0]);
  const size = new Map();
  for (const message of session.messages) size.set(message.group, (size.get(message.group) || 0) + 1);
  const bad = new Set();
  view.forEach((entry, at) => {
    if (entry.stands_for.length !== 1) return;
    const index = entry.stands_for[0], group = session.messages[index].group;
    if (entry.role === "tool" && !present.has(group)) bad.add(at);
    if (entry.role === "assistant" && entry.calls.length && index === group) {
      for (let i = group; i < group + size.get(group); i++) {
        if (i < session.messages.length && !present.has(i) && session.messages[i].role === "tool") bad.add(at);
      }
    }
  });
  return bad;
}

/** The state of a probe at a step, from its run-length list. */
function stateAt(states, step) {
  let found = "";
  for (const [first, state] of states) if (first <= step) found = state;
  return found;
}
