"use strict";
// Sorting and filtering of plain tables. Cells without a value stay last both ways;
// the state of the page's main table is kept in the address.
(() => {
  const { make, get, set } = helmsite;
  const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

  const enhance = (table) => {
    const main = "main" in table.dataset;
    const key = (name) => (main ? name : `${table.id}.${name}`);
    const heads = [...table.tHead.rows[0].cells];
    const body = table.tBodies[0];
    const order = [...body.rows];
    const texts = heads.flatMap((head, i) => ("text" in head.dataset ? [i] : []));
    if (order.length < 2) return;
    const region = table.closest(".scroll");
    const status = make("span", { role: "status" });
    const bar = make("div", { class: "filter" });
    let input = null;
    if (order.length > 5) {
      input = make("input", { type: "search", "aria-label": "Filter rows by their texts", placeholder: "Filter" });
      bar.append(input);
    }
    bar.append(status);
    region.before(bar);

    const number = (row, i) => {
      const text = row.cells[i].dataset.v;
      return text === undefined ? null : Number(text);
    };
    const label = (row, i) => row.cells[i].textContent.trim();

    const sort = (name, up) => {
      const i = heads.findIndex((head) => head.dataset.k === name);
      const sorted = [...order];
      if (i >= 0) {
        const text = "text" in heads[i].dataset;
        const value = text ? (row) => label(row, i) || null : (row) => number(row, i);
        const compare = text ? collator.compare : (a, b) => a - b;
        sorted.sort((a, b) => {
          const x = value(a), y = value(b);
          if (x === null || y === null) return (x === null) - (y === null);
          return up ? compare(x, y) : compare(y, x);
        });
      }
      body.append(...sorted);
      table.classList.toggle("resorted", i >= 0);
      heads.forEach((head, j) => {
        if (j === i) head.setAttribute("aria-sort", up ? "ascending" : "descending");
        else head.removeAttribute("aria-sort");
        const button = head.querySelector(".sort");
        button.textContent = j === i ? (up ? "▲" : "▼") : "↕";
      });
      return i;
    };
    const filter = () => {
      const words = (input ? input.value : "").toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const row of order) {
        const text = texts.map((i) => row.cells[i].textContent).join(" ").toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
        shown += !row.hidden;
      }
      return words.length ? `${shown} of ${order.length} rows` : "";
    };

    for (const head of heads) {
      const name = head.querySelector(".head").textContent.trim();
      const button = make("button", { type: "button", class: "sort", "aria-label": `Sort by ${name}` }, "↕");
      button.addEventListener("click", () => {
        const first = "text" in head.dataset || head.dataset.first === "up" ? "ascending" : "descending";
        const now = head.getAttribute("aria-sort");
        const next = !now ? first : now === first ? (first === "ascending" ? "descending" : "ascending") : "";
        const up = next === "ascending";
        sort(next ? head.dataset.k : "", up);
        set({ [key("sort")]: next && (up ? "" : "-") + head.dataset.k });
        status.textContent = next ? `Sorted by ${name}, ${next}.` : "In the original order.";
      });
      head.prepend(button);
    }
    if (input) {
      input.value = get(key("q"));
      input.addEventListener("input", () => {
        status.textContent = filter();
        set({ [key("q")]: input.value });
      });
      status.textContent = filter();
    }
    const wanted = get(key("sort"));
    if (wanted) sort(wanted.replace(/^-/, ""), !wanted.startsWith("-"));
  };
  document.querySelectorAll("table[data-sortable]").forEach(enhance);
})();
