// The index of a survey, sorted and filtered. It reads what the page shows and writes no markup;
// without it every row is there, in the order of the files.
(() => {
  "use strict";
  const table = document.querySelector("table.index");
  const controls = document.querySelector(".controls");
  if (!table || !controls) return;
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const heads = [...table.tHead.rows[0].cells];
  const shown = controls.querySelector("[role=status]");
  const search = controls.querySelector("input");
  const choices = [...controls.querySelectorAll("select")];

  const text = (row, column) => row.cells[column].textContent.trim();
  const ratio = (cell) => {
    const parts = /^(\d+)\/(\d+)$/.exec(cell);
    return parts && Number(parts[2]) ? Number(parts[1]) / Number(parts[2]) : null;
  };
  const order = new Intl.Collator(undefined, { numeric: true }).compare;
  const compare = (one, other) => {
    // What was not asked stands last in either direction.
    const [left, right] = [ratio(one), ratio(other)];
    return left !== null && right !== null && left !== right ? left - right : order(one, other);
  };

  const sort = (column, direction) => {
    const sorted = rows
      .map((row, place) => ({ row, place, cell: text(row, column) }))
      .sort((one, other) => {
        if (!one.cell || !other.cell) return !one.cell - !other.cell || one.place - other.place;
        return direction * compare(one.cell, other.cell) || one.place - other.place;
      });
    body.append(...sorted.map((each) => each.row));
    heads.forEach((head, at) => {
      if (at === column) head.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    });
  };

  const fits = (row, choice) => {
    const cell = text(row, Number(choice.dataset.column));
    if (choice.value === "") return true;
    if (choice.dataset.kind === "count") return (Number(cell) > 0) === (choice.value === "some");
    return cell === choice.value || cell.startsWith(`${choice.value} `);
  };
  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let left = 0;
    for (const row of rows) {
      const said = row.textContent.toLowerCase();
      row.hidden = !(
        words.every((word) => said.includes(word)) && choices.every((choice) => fits(row, choice))
      );
      left += !row.hidden;
    }
    shown.textContent = `${left} of ${rows.length} templates`;
  };

  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      sort(column, head.getAttribute("aria-sort") === "ascending" ? -1 : 1);
    });
  });
  search.addEventListener("input", filter);
  choices.forEach((choice) => choice.addEventListener("change", filter));
  table.classList.add("live");
  controls.hidden = false;
  // A browser may have kept what was typed before the page was loaded again.
  filter();
})();
