"use strict";
// Click on a column's head: sort its table by it; click again: the other way round.
document.querySelectorAll("table.sortable").forEach(function (table) {
  table.querySelectorAll("thead th").forEach(function (head, column) {
    // No <button>: browsers leave those out of table heads that repeat on printed pages.
    var button = document.createElement("span");
    button.setAttribute("role", "button");
    button.tabIndex = 0;
    button.title = "Sort by this column";
    while (head.firstChild) button.appendChild(head.firstChild);
    head.appendChild(button);
    button.addEventListener("keydown", function (event) {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        button.click();
      }
    });
    button.addEventListener("click", function () {
      var down = head.getAttribute("aria-sort") === "ascending";
      table.querySelectorAll("thead th").forEach(function (h) { h.removeAttribute("aria-sort"); });
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      var body = table.tBodies[0];
      var rows = Array.from(body.rows).map(function (row, place) {
        var cell = row.cells[column];
        var value = cell.dataset.v === undefined ? cell.textContent : Number(cell.dataset.v);
        return { row: row, value: value, place: place };
      });
      rows.sort(function (a, b) {
        var order = typeof a.value === "number" && typeof b.value === "number"
          ? a.value - b.value
          : String(a.value).localeCompare(String(b.value), undefined, { numeric: true });
        return (down ? -order : order) || a.place - b.place;
      });
      rows.forEach(function (entry) { body.appendChild(entry.row); });
    });
  });
});
