// The view of a step, folded from the history and the changes that Python made.
// Nothing here decides what is shortened or dropped.

/** One change applied: out with `affected`, in with `inserts`, in rising order. */
function apply(view, change) {
  const gone = new Set(change.affected);
  const after = view.filter((entry, at) => !gone.has(at));
  for (const [at, entry] of change.inserts) after.splice(at, 0, entry);
  return after;
}

/** An entry for a message of the history, as it was. */
function verbatim(session, index) {
  const message = session.messages[index];
  return { ...message, stands_for: [index], how: "verbatim", index };
}

/** The entries that the model was sent at `step`; before=true: without this step's changes. */
function viewAt(session, run, step, before = false) {
  let view = [], taken = 0, next = 0;
  for (let s = 0; s <= step; s++) {
    for (; taken < session.steps[s]; taken++) view.push(verbatim(session, taken));
    if (before && s === step) break;
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
