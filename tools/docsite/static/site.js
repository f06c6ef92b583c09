// The theme, the search, the map's filter, and buttons that copy code. Every page reads without it.
"use strict";

const root = document.body.dataset.root;

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

// Theme
const button = document.querySelector(".theme");
function showTheme() {
  const dark = document.documentElement.dataset.theme === "dark";
  button.textContent = dark ? "☾" : "☀";
  button.setAttribute("aria-label", dark ? "Dark. Change to light." : "Light. Change to dark.");
}
button.addEventListener("click", () => {
  const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  try {
    localStorage.setItem("heed-theme", next);
  } catch {
    // Only remembering fails.
  }
  showTheme();
});
showTheme();

// Search: the index is a script that is loaded when the box is first used.
const box = document.getElementById("query");
const hits = document.getElementById("hits");
let loading = null;

function load() {
  loading ??= new Promise((done) => {
    const script = element("script", { src: `${root}search.js` });
    script.addEventListener("load", done);
    document.head.append(script);
  });
  return loading;
}

/** Rows that have every word, those with a word in the title first. */
function find(query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const found = [];
  for (const row of window.heedSearch ?? []) {
    const title = row[0].toLowerCase();
    const rest = `${row[1]} ${row[3]}`.toLowerCase();
    let points = 0;
    for (const word of words) {
      if (title === word) points += 20;
      else if (title.startsWith(word)) points += 10;
      else if (title.includes(word)) points += 6;
      else if (rest.includes(word)) points += 1;
      else points = -Infinity;
    }
    if (points > 0) found.push({ row, points: row[2].startsWith("api/") ? points : points + 2 });
  }
  return found.sort((a, b) => b.points - a.points).slice(0, 12);
}

function select(index) {
  const options = [...hits.querySelectorAll("[role=option]")];
  options.forEach((option, i) => option.setAttribute("aria-selected", i === index ? "true" : "false"));
  if (options[index]) {
    box.setAttribute("aria-activedescendant", options[index].id);
    options[index].scrollIntoView({ block: "nearest" });
  } else box.removeAttribute("aria-activedescendant");
}

function close() {
  hits.hidden = true;
  box.setAttribute("aria-expanded", "false");
  box.removeAttribute("aria-activedescendant");
}

async function search() {
  await load();
  const query = box.value.trim();
  if (query.length < 2) return close();
  const found = find(query);
  const rows = found.map(({ row: [title, where, link] }, i) => {
    const option = element("li", {
      role: "option",
      id: `hit-${i}`,
      "aria-selected": "false",
      "data-link": root + link,
    });
    option.append(element("b", {}, title), " ", element("small", {}, where));
    return option;
  });
  if (rows.length === 0)
    rows.push(
      element(
        "li",
        { role: "option", "aria-disabled": "true", "aria-selected": "false", id: "hit-0" },
        "Nothing found",
      ),
    );
  hits.replaceChildren(...rows);
  hits.hidden = false;
  box.setAttribute("aria-expanded", "true");
  select(-1);
}

box.addEventListener("focus", load);
box.addEventListener("input", search);
box.addEventListener("keydown", (event) => {
  const options = [...hits.querySelectorAll("[data-link]")];
  const at = options.findIndex((option) => option.getAttribute("aria-selected") === "true");
  if (event.key === "ArrowDown") select(Math.min(at + 1, options.length - 1));
  else if (event.key === "ArrowUp") select(Math.max(at - 1, 0));
  else if (event.key === "Enter" && options.length) location.href = options[Math.max(at, 0)].dataset.link;
  else if (event.key === "Escape") close();
  else return;
  event.preventDefault();
});
hits.addEventListener("mousedown", (event) => {
  const option = event.target.closest("[data-link]");
  if (option) location.href = option.dataset.link;
});
box.addEventListener("blur", close);
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.target.closest("input, select, textarea")) return;
  event.preventDefault();
  box.focus();
});

// The map: what does not suit the need steps back.
const need = document.getElementById("need");
if (need) {
  const boxes = [...document.querySelectorAll(".box")];
  const show = () => {
    const suits = boxes.filter((each) => !need.value || each.dataset.suits.split(" ").includes(need.value));
    boxes.forEach((each) => each.classList.toggle("away", !suits.includes(each)));
    document.getElementById("suit").value = need.value ? `${suits.length} of ${boxes.length} parts` : "";
  };
  const read = () => {
    const asked = location.hash.match(/^#need=(.+)$/);
    if (asked) need.value = decodeURIComponent(asked[1]);
    show();
  };
  need.addEventListener("change", show);
  addEventListener("hashchange", read);
  read();
}

// Copying code
for (const block of document.querySelectorAll("pre")) {
  const copy = element("button", { type: "button", class: "copy" }, "Copy");
  copy.addEventListener("click", async () => {
    await navigator.clipboard.writeText(block.querySelector("code").textContent);
    copy.textContent = "Copied";
    setTimeout(() => (copy.textContent = "Copy"), 1500);
  });
  const holder = element("div", { class: "code" });
  block.replaceWith(holder);
  holder.append(block, ...(navigator.clipboard ? [copy] : []));
}

// A phone begins with the text, not with the lists.
if (matchMedia("(max-width: 60rem)").matches) {
  for (const list of document.querySelectorAll("aside details")) list.open = false;
}
