/** A history as a line of time: what was taken when, what it weighs, and what comes next. */
import { figure } from "../charts/figure";
import { bottomAxis, chart } from "../charts/frame";
import { shorten, textWidth } from "../charts/text";
import type { Table } from "../csv";
import type { Example } from "../data";
import { h, s, type Child } from "../dom";
import { formatWeight, tickFormat } from "../format";
import { isMatrix } from "../matrix";
import { linear, niceDomain, type Scale } from "../scale";
import { describeOnHover } from "../tooltip";
import { keyWeights } from "../weights";
import type { Picture } from "./picture";

const kMost = 60; // items of a history; the latest are shown

/** Weights of one map on the items of a history; NaN where it does not look. */
interface Look {
  name: string;
  weights: number[];
}

export interface History {
  input: string;
  items: string[];
  looks: Look[];
  gold: number[] | null;
}

/** Short-term maps look at the latest items only: they stand where those items do. */
export function histories(example: Example): History[] {
  const views = example.shapes?.views ?? new Map();
  const whole = [...example.inputs.keys()].filter((name) => name !== "target" && !views.has(name));
  return whole.map((input) => {
    const items = example.inputs.get(input)!;
    const looks = example.maps.flatMap((map): Look[] => {
      if (!isMatrix(map) || map.keyInput === null) return [];
      const view = views.get(map.keyInput);
      if (map.keyInput !== input && view?.of !== input) return [];
      const own = keyWeights(map);
      const begin = view ? view.begin : 0;
      const term = view ? "short-term" : views.size > 0 && input === "history" ? "long-term" : "";
      const named = map.name === map.keyInput ? "" : map.name;
      return [
        {
          name: [term, named].filter(Boolean).join(": ") || "weight",
          weights: items.map((_, i) => own[i - begin] ?? NaN),
        },
      ];
    });
    return { input, items, looks, gold: example.gold?.weights.get(input) ?? null };
  });
}

const kRow = 22;

interface Timeline {
  history: History;
  title: string;
}

function drawHistory({ history, title }: Timeline, width: number): SVGSVGElement {
  const first = Math.max(0, history.items.length - kMost);
  const items = history.items.slice(first);
  const wide = Math.min(640, width);
  const names = Math.min(
    wide * 0.42,
    Math.max(...items.map((item) => textWidth(item, 13)), 40) + 40,
  );
  const full = Math.max(
    0,
    ...history.looks.flatMap(({ weights }) => weights.filter(Number.isFinite)),
  );
  const bars = Math.max(1, history.looks.length);
  const row = Math.max(kRow, 9 * bars + 8);
  const bottom = 20 + row * items.length;
  const scale = linear(niceDomain([0, full || 1], { tickCount: 4 }), [names, wide - 14], 4);
  return chart(
    wide,
    bottom + 44,
    title,
    s("text", { class: "label", x: 0, y: 12 }, "earliest"),
    s("text", { class: "label", x: 0, y: bottom + 17 }, "latest"),
    bottomAxis({ scale, format: tickFormat(scale.step, ""), label: "weight", top: 20, bottom }),
    items.map((item, i) => itemRow(history, first + i, item, 20 + i * row, row, scale)),
  );
}

function itemRow(
  history: History,
  place: number,
  item: string,
  y: number,
  row: number,
  scale: Scale,
): Child {
  const right = (history.gold?.[place] ?? 0) > 0;
  const words = [
    `${place + 1}: ${item}`,
    ...history.looks.map(({ name, weights }) => `${name} ${formatWeight(weights[place]!)}`),
    ...(right ? ["part of the true rationale"] : []),
  ].join(", ");
  const thick = Math.min(12, (row - 6) / Math.max(1, history.looks.length));
  const names = scale.range[0];
  const group = s(
    "g",
    { class: "row", tabindex: 0, role: "img", "aria-label": words },
    s("rect", { class: "hit", x: 0, y, width: scale.range[1], height: row }),
    right && s("rect", { class: "gold", x: 0, y: y + 3, width: 3, height: row - 6 }),
    s("text", { class: "name", x: 8, y: y + row / 2 + 4 }, shorten(item, 13, names - 14)),
    history.looks.map(({ weights }, k) => {
      const weight = weights[place]!;
      if (!Number.isFinite(weight)) return false;
      const top = y + (row - thick * history.looks.length) / 2 + k * thick;
      return s("rect", {
        class: `term term-${k % 3}`,
        x: names,
        y: top + 0.5,
        width: Math.max(0.5, scale(weight) - names),
        height: thick - 1,
      });
    }),
  );
  describeOnHover(group, () => words);
  return group;
}

function tableOf({ input, items, looks, gold }: History): Table {
  return {
    columns: ["input", "place", "item", ...looks.map(({ name }) => name), "rationale"],
    rows: items.map((item, i) => [
      input,
      i + 1,
      item,
      ...looks.map(({ weights }) => weights[i]!),
      gold?.[i] ?? null,
    ]),
  };
}

function timeline(example: Example, history: History): HTMLElement {
  const hidden = history.items.length - kMost;
  const title = `${example.id}: ${history.input}`;
  return h(
    "div",
    {},
    history.looks.length > 1 &&
      h(
        "p",
        { class: "key" },
        history.looks.map(({ name }, k) =>
          h(
            "span",
            {},
            s(
              "svg",
              { class: "sample", width: 16, height: 12, "aria-hidden": "true" },
              s("rect", { class: `term term-${k % 3}`, width: 16, height: 12 }),
            ),
            name,
          ),
        ),
      ),
    figure({
      title,
      note: [
        hidden > 0 && `The latest ${kMost} of ${history.items.length} items.`,
        history.gold?.some((weight) => weight > 0) && "Marked at the left: the true rationale.",
      ]
        .filter(Boolean)
        .join(" "),
      draw: (width) => drawHistory({ history, title }, width),
      table: () => tableOf(history),
    }).element,
  );
}

function answer(example: Example): Child {
  const ranked = example.prediction?.sequence ?? [];
  const truth = example.gold?.label ?? null;
  if (ranked.length === 0) return false;
  const place = truth === null ? -1 : ranked.indexOf(truth);
  return h(
    "div",
    { class: "ranked" },
    h("p", { class: "what" }, "What comes next, the likeliest first"),
    h(
      "ol",
      {},
      ranked.map((item) =>
        h("li", { class: item === truth ? "hit-item" : null }, item, item === truth && " ✓ taken"),
      ),
    ),
    truth !== null &&
      place < 0 &&
      h("p", { class: "numbers" }, `Taken: ${truth}, which is not among these ${ranked.length}.`),
  );
}

export const recommend: Picture = {
  id: "recommend",
  title: "History",
  fits: ({ report, example }) =>
    report.task.kind === "recommend" && histories(example).some(({ looks }) => looks.length > 0),
  draw: ({ example }) =>
    h(
      "div",
      { class: "shape recommend" },
      h(
        "div",
        { class: "histories" },
        histories(example)
          .filter(({ looks, items }) => looks.length > 0 && items.length > 0)
          .map((history) => timeline(example, history)),
      ),
      answer(example),
    ),
};
