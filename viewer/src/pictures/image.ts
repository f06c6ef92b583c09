/** A picture under its weights, or the frames of a film under theirs. */
import { figure } from "../charts/figure";
import { drawPanels, type Panel } from "../charts/picture_panels";
import { button, segmented, slider } from "../controls";
import type { Table } from "../csv";
import type { Example } from "../data";
import { h } from "../dom";
import { formatValue, formatWeight } from "../format";
import { largest, planes } from "../matrix";
import { asksItself, filmPanels, pictureMaps, stillPanels } from "./panels";
import type { Picture } from "./picture";

function tableOf(panels: Panel[]): Table {
  return {
    columns: ["panel", "row", "column", "weight", "rationale"],
    rows: panels.flatMap((panel) =>
      panel.weights.map((weight, i) => [
        panel.title,
        Math.floor(i / panel.columns) + 1,
        (i % panel.columns) + 1,
        weight,
        panel.gold?.[i] ?? null,
      ]),
    ),
  };
}

const kOpacity = 0.7;

function noteOf(example: Example, panels: Panel[], own: boolean): string {
  const number = example.gold?.number;
  return [
    number !== undefined && `${formatValue(number, "")} is right.`,
    own
      ? "Full colour at the largest weight of each panel."
      : `Full colour at weight ${formatWeight(largest(panels.flatMap(({ weights }) => weights)))}.`,
    panels.some(({ weight }) => weight !== null) &&
      "The bar is the weight of the frame, the colour where in it the weight is.",
    panels.some(({ gold }) => gold?.some((g) => g > 0)) && "Framed: the true rationale.",
    panels.some(({ said }) => said) && "✓ and ✗ mark the answer, ○ the right class.",
  ]
    .filter(Boolean)
    .join(" ");
}

interface Choice {
  each: boolean;
  query: number | null;
  /** Full colour at the largest weight of each panel, not of all. */
  own: boolean;
}

interface Overlay {
  example: Example;
  title: string;
  heads: number;
  /** Whether a cell can be picked to see what it asks for. */
  picks: boolean;
  panelsOf: (choice: Choice) => Panel[];
}

function overlay({ example, title, heads, picks, panelsOf }: Overlay): HTMLElement {
  const choice: Choice = { each: false, query: null, own: false };
  let opacity = kOpacity;
  let panels = panelsOf(choice);
  const told = h("p", { class: "numbers" }, noteOf(example, panels, choice.own));
  const asking = h("output", {});
  const choose = (change: Partial<Choice>): void => {
    Object.assign(choice, change);
    panels = panelsOf(choice);
    told.textContent = noteOf(example, panels, choice.own);
    asking.textContent = sayQuery(choice.query, panels[0]!.columns);
    drawn.redraw();
  };
  const pick = (query: number, panel: number): void => {
    choose({ query });
    drawn.element.querySelectorAll<SVGElement>(".hit")[panel]?.focus();
  };
  const drawn = figure({
    title,
    note: "",
    draw: (width) =>
      drawPanels(
        {
          panels,
          opacity,
          title,
          own: choice.own,
          asked: choice.query,
          ...(picks && { onPick: pick }),
        },
        width,
      ),
    table: () => tableOf(panels),
  });
  asking.textContent = sayQuery(null, 1);
  const opacitySlider = slider(
    "Overlay",
    { min: 0, max: 1, step: 0.05, value: kOpacity },
    (value) => `${Math.round(100 * value)} %`,
    (value) => {
      opacity = value;
      drawn.redraw();
    },
  );
  return h(
    "div",
    { class: "shape image" },
    h(
      "div",
      { class: "controls" },
      opacitySlider,
      heads > 1 &&
        segmented<"mean" | "each">(
          "Heads",
          [
            { value: "mean", text: `Mean of ${heads}` },
            { value: "each", text: "Each" },
          ],
          "mean",
          (value) => choose({ each: value === "each" }),
        ),
      (panels.length > 1 || heads > 1) &&
        segmented<"all" | "own">(
          "Full colour at the largest weight",
          [
            { value: "all", text: "Of all" },
            { value: "own", text: "Of each panel" },
          ],
          "all",
          (value) => choose({ own: value === "own" }),
        ),
    ),
    picks &&
      h(
        "p",
        { class: "asking" },
        asking,
        button("All cells", "The mean of what all cells ask for", () => choose({ query: null })),
      ),
    drawn.element,
    told,
  );
}

function sayQuery(query: number | null, columns: number): string {
  if (query === null)
    return "Weights: the mean of what all cells ask for. Pick a cell for its own.";
  return `Weights: what the cell in row ${Math.floor(query / columns) + 1}, column ${(query % columns) + 1} asks for.`;
}

export const image: Picture = {
  id: "image",
  title: "Picture",
  fits: (subject) => stillPanels(subject, false).length > 0,
  draw: (subject) =>
    overlay({
      example: subject.example,
      title: `${subject.example.id}: picture`,
      heads: Math.max(...pictureMaps(subject.example).map(({ map }) => planes(map))),
      picks: asksItself(subject.example),
      panelsOf: ({ each, query }) => stillPanels(subject, each, query),
    }),
};

export const film: Picture = {
  id: "film",
  title: "Frames",
  fits: (subject) => filmPanels(subject).length > 0,
  draw: (subject) =>
    overlay({
      example: subject.example,
      title: `${subject.example.id}: frames`,
      heads: 1,
      picks: false,
      panelsOf: () => filmPanels(subject),
    }),
};
