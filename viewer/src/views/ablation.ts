/** The rows of an ablation against their baseline: a forest plot, the table, and what did not run. */
import {
  ablationTable,
  finishedRows,
  mainMetric,
  type Ablation,
  type AblationRow,
} from "../ablation";
import { dotPlot, type DotPlotOptions, type DotRow } from "../charts/dot_plot";
import { exportButtons, figure } from "../charts/figure";
import { segmented } from "../controls";
import { variantMark } from "../color";
import type { Report } from "../data";
import { h, hiddenText, type Child } from "../dom";
import { formatCount, formatInterval, formatP, formatValue, kAbsent } from "../format";
import { swatch } from "./swatch";

type Shown = "difference" | "test" | "val";

const kParts = { test: "test", val: "validation" } as const;

export function ablationView({ ablation }: Report): Child {
  if (ablation === null) return null;
  const rows = finishedRows(ablation);
  return [
    rows.length === 0
      ? h("p", { class: "empty" }, "No cell has finished.")
      : [forest(ablation, rows), table(ablation, rows)],
    notRun(ablation),
  ];
}

function partName(part: string): string {
  return part === "val" ? kParts.val : kParts.test;
}

function forest(ablation: Ablation, rows: AblationRow[]): HTMLElement {
  let shown: Shown = rows.some((row) => row.against) ? "difference" : "test";
  const { element, redraw } = figure({
    title: "Rows against the baseline",
    note:
      "In the order of validation data, the best first. Line: 95 % interval – of the difference, over seeds and " +
      "examples; of a metric, over seeds (rings). Filled mark: significant after Holm’s correction; outline: chance may explain it.",
    draw: (width) => dotPlot(plotOf(ablation, rows, shown), width),
    table: () => ablationTable(ablation),
  });
  return h(
    "div",
    { class: "block" },
    h(
      "div",
      { class: "controls" },
      segmented<Shown>(
        "Show",
        [
          { value: "difference", text: "Difference" },
          { value: "test", text: "Test" },
          { value: "val", text: "Validation" },
        ],
        shown,
        (value) => {
          shown = value;
          redraw();
        },
      ),
    ),
    element,
  );
}

function plotOf(ablation: Ablation, rows: AblationRow[], shown: Shown): DotPlotOptions {
  const { metric, unit, comparedOn } = ablation;
  if (shown === "difference") {
    const points = unit === "share" ? "points of " : "";
    return {
      label: `Difference in ${points}${partName(comparedOn)} ${metric}`,
      unit,
      limits: [-Infinity, Infinity],
      rule: 0,
      rows: rows.map((row, i) => differenceRow(ablation, row, i)),
    };
  }
  const baseline = rows.find((row) => row.baseline);
  const plot = {
    label: `${kParts[shown]} ${metric}`,
    unit,
    rows: rows.map((row, i) => metricRow(ablation, row, i, shown)),
  };
  return baseline ? { ...plot, rule: mainMetric(baseline, shown, ablation).interval[0] } : plot;
}

function differenceRow(ablation: Ablation, row: AblationRow, index: number): DotRow {
  const [mean, low, high] = row.against?.interval ?? [row.baseline ? 0 : NaN, NaN, NaN];
  return {
    name: row.name,
    mark: variantMark(index),
    mean,
    low,
    high,
    values: [],
    text: row.baseline ? "baseline" : differenceText(ablation, row),
    best: row.against?.significant ?? false,
    hollow: !row.against?.significant,
    sentence: sentence(ablation, row),
  };
}

function metricRow(
  ablation: Ablation,
  row: AblationRow,
  index: number,
  part: "val" | "test",
): DotRow {
  const { interval, values } = mainMetric(row, part, ablation);
  const [mean, low, high] = interval;
  return {
    name: row.name,
    mark: variantMark(index),
    mean,
    low,
    high,
    values,
    text: formatInterval(interval, ablation.unit) + (row.baseline ? ", baseline" : ""),
    best: row.against?.significant ?? false,
    hollow: !row.against?.significant,
    sentence: sentence(ablation, row),
  };
}

function differenceText({ unit }: Ablation, { against }: AblationRow): string {
  if (!against) return kAbsent;
  return formatInterval(against.interval, unit, true) + (against.significant ? " *" : "");
}

/** "score=dot: validation 91.2 %, test 90.1 %, difference +0.3 [−0.2, 0.8] %, p = 0.412" */
function sentence(ablation: Ablation, row: AblationRow): string {
  const part = (name: "val" | "test"): string =>
    `${kParts[name]} ${formatInterval(mainMetric(row, name, ablation).interval, ablation.unit)}`;
  const against = row.against
    ? `, difference ${differenceText(ablation, row)}, p ${formatP(row.against.pCorrected)} after correction`
    : "";
  return `${row.name}: ${part("val")}, ${part("test")}${row.baseline ? ", the baseline" : against}`;
}

function table(ablation: Ablation, rows: AblationRow[]): HTMLElement {
  const title = "Every row";
  const seeds = Math.max(...rows.map((row) => row.seeds.length));
  const { metric, comparedOn } = ablation;
  const heads: [string, string][] = [
    [`Validation ${metric}`, "mean [95 % over seeds]"],
    [`Test ${metric}`, "mean [95 % over seeds]"],
    ["Difference", `on ${partName(comparedOn)} data, [95 %]`],
    ["p", "Holm-corrected"],
    ["Parameters", ""],
    ["Time", "training, mean"],
    ["Memory", "most of a process"],
  ];
  return h(
    "div",
    { class: "block" },
    h(
      "div",
      { class: "caption" },
      h("h3", {}, title),
      exportButtons(title, () => ablationTable(ablation)),
    ),
    h(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": `${title}, table` },
      h(
        "table",
        { class: "rows" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th", { scope: "col" }, "Row"),
            heads.map(([name, more]) =>
              h(
                "th",
                { scope: "col", class: "figure" },
                name,
                more !== "" && h("span", { class: "better" }, more),
              ),
            ),
          ),
        ),
        h(
          "tbody",
          {},
          rows.map((row, i) => tableRow(ablation, row, i, seeds)),
        ),
      ),
    ),
    h(
      "p",
      { class: "note" },
      `${formatCount(seeds, "seed")} a row, ordered by validation data; nothing is chosen by test data. * p below 0.05 after Holm’s correction. ` +
        "Seeds and examples both count as samples: a row is significant if other seeds and other examples would agree.",
    ),
  );
}

function tableRow(ablation: Ablation, row: AblationRow, index: number, seeds: number): HTMLElement {
  const { unit } = ablation;
  const significant = row.against?.significant ?? false;
  const cells: Child[] = [
    formatInterval(mainMetric(row, "val", ablation).interval, unit),
    formatInterval(mainMetric(row, "test", ablation).interval, unit),
    row.baseline ? "baseline" : differenceText(ablation, row),
    [
      row.against ? formatP(row.against.pCorrected) : kAbsent,
      significant && hiddenText(" (significant)"),
    ],
    formatValue(row.parameters, "count"),
    formatValue(row.seconds, "s"),
    formatValue(row.memory / 2 ** 20, "MiB"),
  ];
  return h(
    "tr",
    {},
    h(
      "th",
      { scope: "row" },
      h("span", { class: "who" }, swatch(variantMark(index)), row.name),
      row.seeds.length < seeds &&
        h("span", { class: "better" }, `${formatCount(row.seeds.length, "seed")} of ${seeds}`),
    ),
    cells.map((cell, i) =>
      h("td", { class: significant && (i === 2 || i === 3) ? "figure best" : "figure" }, cell),
    ),
  );
}

/** Cells that failed, and combinations that make no sense: reported, not lost. */
function notRun({ rows, pending }: Ablation): Child {
  const failed = rows.flatMap(({ name, failures }) =>
    failures.map(({ seed, message }) => `${name}, seed ${seed}: ${message}`),
  );
  const reasons = new Map<string, string[]>();
  for (const { name, doesNotFit } of rows) {
    if (doesNotFit !== null) reasons.set(doesNotFit, [...(reasons.get(doesNotFit) ?? []), name]);
  }
  const refused = [...reasons].map(([reason, names]) => `${reason} (${names.join("; ")})`);
  return [
    failed.length > 0 &&
      list("failed", formatCount(failed.length, "cell") + " failed", failed, true),
    pending > 0 && h("p", { class: "empty" }, `${formatCount(pending, "cell")} have not run yet.`),
    refused.length > 0 && list("refused", "Combinations that do not fit", refused, false),
  ];
}

function list(name: string, title: string, items: string[], open: boolean): HTMLElement {
  return h(
    "details",
    { class: name, open },
    h("summary", {}, title),
    h(
      "ul",
      {},
      items.map((item) => h("li", {}, item)),
    ),
  );
}
