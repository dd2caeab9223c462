// The bench: choose session, policy, window and step; see before and after.

const data = JSON.parse(document.getElementById("data").textContent);
const at = (id) => document.getElementById(id);
const chosen = { session: 0, policy: "", window: 0, step: 0 };

const sessionNow = () => data.sessions[chosen.session];

/** The run of the chosen policy at the chosen window, or the first that there is. */
function runNow() {
  const runs = sessionNow().runs.filter((run) => run.policy === chosen.policy);
  return runs.find((run) => run.window === chosen.window) || runs[0] || sessionNow().runs[0];
}

function fillChoices() {
  at("session").replaceChildren(...data.sessions.map((session, number) => {
    const option = make("option", "", session.session);
    option.value = String(number);
    return option;
  }));
}

function fillPolicies() {
  const names = [...new Set(sessionNow().runs.map((run) => run.policy))];
  at("policy").replaceChildren(...names.map((name) => make("option", "", name)));
  if (!names.includes(chosen.policy)) chosen.policy = names[Math.min(1, names.length - 1)] || "";
}

/** Bring every choice back within what the session has. */
function settle() {
  chosen.session = Math.max(0, Math.min(data.sessions.length - 1, chosen.session | 0));
  fillPolicies();
  const windows = sessionNow().windows;
  const asked = data.rows.find((row) => row.session === sessionNow().session);
  if (!windows.includes(chosen.window)) {
    chosen.window = asked && windows.includes(asked.window) ? asked.window : windows[0] || 0;
  }
  const last = Math.max(0, runNow().tokens.length - 1);
  chosen.step = Math.max(0, Math.min(last, chosen.step | 0));
  at("session").value = String(chosen.session);
  at("policy").value = chosen.policy;
  at("window").max = String(Math.max(0, windows.length - 1));
  at("window").value = String(windows.indexOf(chosen.window));
  at("window").disabled = windows.length < 2 || runNow().soft === null;
  at("window-out").textContent = runNow().soft === null ? "no limit" : numberOf(chosen.window, "token");
  at("step").max = String(last);
  at("step").value = String(chosen.step);
  at("step-out").textContent = `${chosen.step} of ${last}`;
}

function show(changes) {
  Object.assign(chosen, changes);
  settle();
  const session = sessionNow(), run = runNow(), step = chosen.step;
  const view = viewAt(session, run, step);
  const told = session.steps[step] || 0;
  at("told").textContent = `${run.policy}: ${run.about}. Step ${step}: `
    + `${numberOf(run.tokens[step], "token")} in ${numberOf(view.length, "message")}, `
    + `${run.prefix[step]} of them in front as they were sent before`
    + (run.over.includes(step) ? "; OVER the window, the run would have ended here." : ".");
  drawStrip(at("strip"), session, run, step, (s) => show({ step: s }));
  showChanges(run, step);
  showBefore(session, fates(view, told), told);
  showAfter(session, view);
  showProbes(run, step);
  showLayers(run);
  showIntegrity(session, run);
  document.querySelectorAll(".curve").forEach((curve) =>
    curve.classList.toggle("chosen", curve.dataset.policy === run.policy));
  search();
  const hash = new URLSearchParams({ s: chosen.session, p: chosen.policy, w: chosen.window, t: step });
  history.replaceState(null, "", "#" + hash);
}

function headOf(index, entry, state) {
  const head = make("div", "head");
  head.append(make("span", "", `#${index} ${entry.role}${entry.name ? " " + entry.name : ""}`),
    make("span", "", `${numberOf(entry.tokens, "token")}, ${numberOf(entry.chars, "character")}`),
    make("span", "state", state));
  if (entry.error) head.append(make("span", "bad", entry.error));
  return head;
}

function bodyOf(entry) {
  const parts = [];
  if (entry.text) {
    const cut = entry.chars > entry.text.length
      ? `\n[cut here: ${entry.text.length} of ${numberOf(entry.chars, "character")}]` : "";
    parts.push(make("div", "text", entry.text + cut));
  }
  for (const [name, said, size] of entry.calls || []) {
    const more = size > said.length ? ` ... ${numberOf(size, "character")}` : "";
    parts.push(make("div", "text", `${name}(${said}${more})`));
  }
  return parts;
}

function showBefore(session, fate, count) {
  const words = { verbatim: "kept", shortened: "shortened", summary: "in a summary", gone: "dropped" };
  at("before").replaceChildren(...session.messages.slice(0, count).map((message, index) => {
    const item = make("li", `${message.role} ${fate[index]}`);
    item.append(headOf(index, message, words[fate[index]]), ...bodyOf(message));
    return item;
  }));
}

function showAfter(session, view) {
  const bad = orphans(session, view);
  at("after").replaceChildren(...view.map((entry, position) => {
    const item = make("li", `${roleOf(entry)} ${entry.how}${bad.has(position) ? " orphan" : ""}`);
    const covers = entry.stands_for;
    const state = bad.has(position) ? `ORPHAN (${entry.role === "tool" ? "its call is gone" : "a result is gone"})`
      : entry.how === "summary" ? `summary of ${numberOf(covers.length, "message")}` : entry.how;
    item.append(headOf(covers.length === 1 ? covers[0] : covers.length ? `${covers[0]}..${covers[covers.length - 1]}` : "-", entry, state),
      ...bodyOf(entry));
    if (entry.how === "shortened" && covers.length === 1) item.append(originalOf(session, covers[0]));
    return item;
  }));
}

function originalOf(session, index) {
  const fold = make("details"), message = session.messages[index];
  fold.append(make("summary", "",
    `the original: ${numberOf(message.chars, "character")}, ${numberOf(message.lines, "line")}`));
  fold.append(...bodyOf(message));
  return fold;
}

function showChanges(run, step) {
  const here = run.changes.filter((change) => change.step === step);
  at("changes").replaceChildren(...here.map((change) => {
    const card = make("div", "card");
    card.append(make("strong", "", change.strategy), ` (${change.trigger}): ${change.before_tokens} -> `
      + `${numberOf(change.after_tokens, "token")}; places ${change.affected.join(", ")}`
      + (change.dropped.length ? `; dropped #${change.dropped.join(", #")}` : ""));
    if (change.unsupported.length) {
      card.append(make("div", "bad", `unsupported: ${change.unsupported.join(", ")}`));
    }
    return card;
  }));
  if (!here.length) at("changes").append(make("p", "empty", "nothing was changed at this step"));
}

function showProbes(run, step) {
  const words = { "": "not said yet", verbatim: "kept", summary: "in a summary", handle: "behind a handle", gone: "GONE" };
  const list = make("ul");
  for (const [fact, states] of Object.entries(run.facts)) {
    const state = stateAt(states, step);
    const item = make("li", state === "gone" ? "bad" : state === "verbatim" ? "good" : "");
    item.append(make("code", "", fact), `: ${words[state]}`);
    list.append(item);
  }
  at("probes").replaceChildren(list.children.length ? list
    : make("p", "empty", "none: ask for them with --fact TEXT"));
}

function showLayers(run) {
  const rows = Object.entries(run.layers);
  const table = make("table"), head = make("tr");
  for (const word of ["strategy", "changes", "tokens saved", "tokens spent"]) head.append(make("th", "", word));
  table.append(head);
  for (const [name, layer] of rows) {
    const row = make("tr");
    for (const value of [name, layer.changes, layer.saved, layer.spent]) row.append(make("td", "", String(value)));
    table.append(row);
  }
  at("layers").replaceChildren(rows.length ? table : make("p", "empty", "this policy did nothing"));
}

function showIntegrity(session, run) {
  const last = Math.max(0, run.tokens.length - 1);
  const lost = orphans(session, viewAt(session, run, last)).size;
  const broken = run.changes.filter((change) => change.after_tokens >= change.before_tokens).length;
  const checks = [[lost === 0, "every call of the last view has its results, every result its call"],
    [broken === 0, "every change made the view smaller"],
    [run.over.length === 0, `every step fits the window (${run.over.length} do not)`],
    [run.breaks.length === 0, `no law is broken on purpose${run.breaks.length ? ": laws " + run.breaks.join(", ") : ""}`]];
  at("integrity").replaceChildren(...checks.map(([good, text]) =>
    make("li", good ? "good" : "bad", `${good ? "✓" : "✗"} ${text}`)));
}

/** Mark the messages that hold the word, say how many, go to the first. */
function search() {
  const word = at("search").value.toLowerCase();
  let count = 0, first = null;
  for (const item of document.querySelectorAll("#before > li, #after > li")) {
    const hit = word !== "" && item.textContent.toLowerCase().includes(word);
    item.classList.toggle("hit", hit);
    if (hit && !count++) first = item;
  }
  at("found").textContent = word === "" ? "" : count ? numberOf(count, "place") : "nowhere at this step";
  return first;
}

function toChange(direction) {
  const steps = [...new Set(runNow().changes.map((change) => change.step))];
  const next = direction > 0 ? steps.find((step) => step > chosen.step)
    : steps.reverse().find((step) => step < chosen.step);
  if (next !== undefined) show({ step: next });
}

function toggleHelp(open = at("help").hidden) {
  at("help").hidden = !open;
}

const KEYS = { j: () => show({ step: chosen.step + 1 }), k: () => show({ step: chosen.step - 1 }),
  n: () => toChange(1), p: () => toChange(-1), "?": () => toggleHelp(), "/": () => at("search").focus() };

function listen() {
  at("session").addEventListener("change", (event) => show({ session: Number(event.target.value), step: 0 }));
  at("policy").addEventListener("change", (event) => show({ policy: event.target.value }));
  at("window").addEventListener("input", (event) => show({ window: sessionNow().windows[event.target.value] }));
  at("step").addEventListener("input", (event) => show({ step: Number(event.target.value) }));
  for (const [id, key] of [["prev-step", "k"], ["next-step", "j"], ["prev-change", "p"], ["next-change", "n"], ["help-button", "?"]]) {
    at(id).addEventListener("click", KEYS[key]);
  }
  at("search").addEventListener("input", () => { const hit = search(); if (hit) hit.scrollIntoView({ block: "nearest" }); });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { toggleHelp(false); event.target.blur(); return; }
    const typing = event.target.matches("input[type=search], select");
    if (typing || event.ctrlKey || event.metaKey || event.altKey || !(event.key in KEYS)) return;
    event.preventDefault();
    KEYS[event.key]();
  });
  window.addEventListener("hashchange", () => show(fromHash()));
}

function fromHash() {
  const hash = new URLSearchParams(location.hash.slice(1));
  if (!hash.has("t")) return {};
  return { session: Number(hash.get("s")), policy: hash.get("p"), window: Number(hash.get("w")), step: Number(hash.get("t")) };
}

if (data.sessions.length) {
  at("bench").hidden = false;
  fillChoices();
  drawLegend(at("legend"));
  listen();
  show(fromHash());
}
