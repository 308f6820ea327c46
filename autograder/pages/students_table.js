"use strict";
const page = document.documentElement.classList;
page.add("scripted");  // until the rows are taken out, the style sheet keeps all but the first from being laid out

addEventListener("DOMContentLoaded", () => {
  const STEP = 100;
  const table = document.getElementById("students");
  const box = table.parentElement;
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  const heads = Array.from(table.tHead.rows[0].cells);
  const input = document.getElementById("find");
  const found = document.getElementById("found");
  const end = document.getElementById("end");
  const rest = document.getElementById("rest");
  const filters = Array.from(document.querySelectorAll("button[data-only]"));

  // Letters that Unicode does not take apart into a plain one and a mark.
  const LETTERS = {æ: "ae", œ: "oe", ø: "o", ß: "ss", þ: "th", ð: "d", đ: "d", ł: "l", ħ: "h", ŧ: "t", ı: "i", ŋ: "n"};
  const letters = new RegExp(`[${Object.keys(LETTERS).join("")}]`, "g");
  const plain = text =>
    text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().replace(letters, letter => LETTERS[letter]);

  function once(make) {
    const made = new Map();
    return key => {
      if (!made.has(key)) made.set(key, make(key));
      return made.get(key);
    };
  }
  const keys = once(column => rows.map(row => {
    const cell = row.cells[column];
    if ("sort" in cell.dataset) return Number(cell.dataset.sort);
    const text = cell.textContent.trim();
    return text === "–" ? "" : text;
  }));
  const words = once(() => {
    const searched = heads.flatMap((head, column) => "find" in head.dataset ? [column] : []);
    return rows.map(row =>
      plain([...searched.map(column => row.cells[column].textContent), row.dataset.found || ""].join(" ")));
  });

  const {compare} = new Intl.Collator("en", {numeric: true, sensitivity: "base"});
  function before(a, b) {
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
    return typeof a === "number" ? a - b : compare(a, b);
  }

  const order = rows.map((_, i) => i);
  let fits = () => true;
  let listed = rows;  // those that fit, in order
  let everything = false;

  function add(count) {
    body.append(...listed.slice(body.rows.length, body.rows.length + count));
    rest.hidden = end.hidden = body.rows.length === listed.length;
    rest.querySelector("button").textContent = `Show all ${listed.length.toLocaleString("en")}`;
    table.setAttribute("aria-rowcount", listed.length + 1);
  }

  function list() {
    listed = order.filter(fits).map(i => rows[i]);
    body.replaceChildren();
    add(everything ? Infinity : STEP);
    box.scrollTop = 0;
  }

  function sortBy(column) {
    const head = heads[column];
    const turn = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    for (const other of heads) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", turn > 0 ? "ascending" : "descending");
    const key = keys(column);
    order.sort((i, j) => (key[i] === "") - (key[j] === "") || turn * before(key[i], key[j]));
    list();
  }

  const isPressed = filter => filter.getAttribute("aria-pressed") === "true";

  function find() {
    const wanted = plain(input.value).split(/\s+/).filter(Boolean);
    const only = filters.filter(isPressed).map(filter => filter.dataset.only);
    const kinds = i => (rows[i].dataset.is || "").split(" ");
    fits = i => only.every(kind => kinds(i).includes(kind)) && wanted.every(word => words()[i].includes(word));
    list();
    found.textContent = wanted.length || only.length ? `${listed.length} of ${rows.length}` : "";
  }

  heads.forEach((head, column) => {
    const button = head.querySelector("button");
    button.disabled = false;
    button.addEventListener("click", () => sortBy(column));
  });
  input.addEventListener("input", find);
  input.addEventListener("keydown", event => {
    if (event.key === "Escape") { input.value = ""; find(); }
  });
  for (const filter of filters) {
    filter.addEventListener("click", () => {
      filter.setAttribute("aria-pressed", !isPressed(filter));
      find();
    });
  }
  for (const button of document.querySelectorAll("button[data-find]")) {
    button.addEventListener("click", () => {
      for (const filter of filters) filter.setAttribute("aria-pressed", false);
      input.value = button.dataset.find;
      find();
      input.focus();
      input.scrollIntoView({block: "start"});
    });
  }

  // Scrolled far to the side, the end is still the end. Watched anew, it is told again if it is still in view.
  const watch = new IntersectionObserver(seen => {
    if (!seen.some(one => one.isIntersecting)) return;
    add(STEP);
    watch.unobserve(end);
    watch.observe(end);
  }, {root: box, rootMargin: "1000px 100000px"});
  watch.observe(end);
  rest.querySelector("button").addEventListener("click", () => {
    everything = true;
    add(Infinity);
    box.focus({preventScroll: true});  // the button is gone
  });
  let printed = 0;
  addEventListener("beforeprint", () => { printed = body.rows.length; add(Infinity); });
  addEventListener("afterprint", () => {
    body.replaceChildren(...listed.slice(0, printed));
    add(0);
  });

  for (const tool of document.querySelectorAll(".tools")) tool.hidden = false;
  find();
});
addEventListener("DOMContentLoaded", () => page.remove("scripted"));  // whatever happened: no row is lost
