// A click on the head of a column sorts its table; a second one turns it round.

function valueOf(row, column) {
  const key = row.cells[column].dataset.key;
  return key === "" ? null : isNaN(key) ? key : Number(key);
}

function sortBy(table, head, column) {
  const down = head.getAttribute("aria-sort") === "ascending";
  for (const other of table.querySelectorAll("th")) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const rows = [...table.tBodies[0].rows];
  rows.sort((one, two) => {
    const a = valueOf(one, column), b = valueOf(two, column);
    if (a === null || b === null) return (a === null) - (b === null);
    const order = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
    return down ? -order : order;
  });
  table.tBodies[0].append(...rows);
}

for (const table of document.querySelectorAll("table.sortable")) {
  table.querySelectorAll("th").forEach((head, column) => {
    const button = make("button", "", head.textContent);
    button.type = "button";
    button.addEventListener("click", () => sortBy(table, head, column));
    head.replaceChildren(button);
  });
}
