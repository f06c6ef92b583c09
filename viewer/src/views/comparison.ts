/** The variants side by side: plots of the headline metrics, and every metric in one table. */
import { dotPlot, strip, type DotRow } from "../charts/dot_plot";
import { exportButtons, figure } from "../charts/figure";
import { variantMark } from "../color";
import type { Metric, Report, Variant } from "../data";
import { h, hiddenText, type Child } from "../dom";
import { display, formatSpread, kAbsent } from "../format";
import {
  bestVariants,
  describe,
  headlineKeys,
  metricKeys,
  metricSentence,
  metricTable,
} from "../metrics";
import { niceDomain } from "../scale";
import { swatch } from "./swatch";

export function comparisonView({ variants }: Report): Child {
  const keys = metricKeys(variants);
  if (keys.length === 0) return h("p", { class: "empty" }, "These runs have no metrics yet.");
  return [
    h(
      "div",
      { class: "plots" },
      headlineKeys(variants).map((key) => metricPlot(variants, key)),
    ),
    metricsTable(variants, keys),
    signatures(variants, keys),
  ];
}

function dotRow(variant: Variant, index: number, metric: Metric, best: boolean): DotRow {
  return {
    name: variant.name,
    mark: variantMark(index),
    mean: metric.mean,
    low: metric.mean - metric.sd,
    high: metric.mean + metric.sd,
    values: metric.values,
    text: formatSpread(metric.mean, metric.sd, metric.unit) + (best ? " ★" : ""),
    best,
    sentence: metricSentence(variant.name, metric, best),
  };
}

function metricPlot(variants: Variant[], key: string): HTMLElement {
  const { label, unit } = describe(variants, key)!;
  const best = bestVariants(variants, key);
  const rows = variants.flatMap((variant, i) => {
    const metric = variant.metrics.get(key);
    return metric ? [dotRow(variant, i, metric, best.has(variant.name))] : [];
  });
  const seeds = Math.max(...rows.map((row) => row.values.length));
  const spread =
    "Filled mark: mean over seeds. Line: one standard deviation. Rings below: each seed.";
  return figure({
    title: label,
    note: `${seeds > 1 ? spread : "One seed, so no spread is known."}${best.size > 0 ? " ★ best mean." : ""}`,
    draw: (width) => dotPlot({ label, unit, rows }, width),
    table: () => metricTable(variants, [key]),
  }).element;
}

function metricsTable(variants: Variant[], keys: string[]): HTMLElement {
  const columns = keys.map((key) => ({
    key,
    metric: describe(variants, key)!,
    best: bestVariants(variants, key),
    domain: niceDomain(
      variants.flatMap((variant) => {
        const metric = variant.metrics.get(key);
        return metric ? [metric.mean, ...metric.values] : [];
      }),
    ),
  }));
  const title = "Every metric";
  return h(
    "div",
    { class: "block" },
    h(
      "div",
      { class: "caption" },
      h("h3", {}, title),
      exportButtons(title, () => metricTable(variants, keys)),
    ),
    h(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": `${title}, table` },
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th", { scope: "col" }, "Variant"),
            columns.map(({ metric }) =>
              h("th", { scope: "col", class: "figure" }, columnHead(metric)),
            ),
          ),
        ),
        h(
          "tbody",
          {},
          variants.map((variant, i) =>
            h(
              "tr",
              {},
              h(
                "th",
                { scope: "row" },
                h("span", { class: "who" }, swatch(variantMark(i)), variant.name),
              ),
              columns.map(({ key, best, domain }) => {
                const metric = variant.metrics.get(key);
                if (!metric) return h("td", { class: "figure" }, kAbsent);
                const row = dotRow(variant, i, metric, best.has(variant.name));
                return h(
                  "td",
                  { class: row.best ? "figure best" : "figure", title: row.sentence },
                  row.best && h("span", { "aria-hidden": "true" }, "★ "),
                  formatSpread(metric.mean, metric.sd, metric.unit),
                  row.best && hiddenText(" (best)"),
                  new Set(metric.values).size > 1 && strip(row, domain, metric.unit),
                );
              }),
            ),
          ),
        ),
      ),
    ),
    h(
      "p",
      { class: "note" },
      tableNote(
        columns.some(({ best }) => best.size > 0),
        variants,
      ),
    ),
  );
}

function tableNote(anyBest: boolean, variants: Variant[]): string {
  const several = variants.some((v) => [...v.metrics.values()].some((m) => m.values.length > 1));
  const spread = several
    ? "Mean ± standard deviation over seeds. Rings: each seed, on the scale of its column; the bar is their mean."
    : "One seed, so no spread is known.";
  return anyBest ? `${spread} ★ best mean.` : spread;
}

function columnHead({ label, unit, higherIsBetter }: Metric): Child {
  const better = higherIsBetter ? "higher is better" : "lower is better";
  const suffix = display(unit).suffix;
  return [
    label,
    h(
      "span",
      { class: "better" },
      [suffix, higherIsBetter === null ? "" : better].filter((text) => text !== "").join(", "),
    ),
  ];
}

function signatures(variants: Variant[], keys: string[]): Child {
  const known = keys
    .map((key) => describe(variants, key)!)
    .filter((metric) => metric.signature !== "");
  if (known.length === 0) return null;
  return h(
    "details",
    {},
    h("summary", {}, "Metric signatures"),
    h(
      "dl",
      { class: "signatures" },
      known.map((metric) => [
        h("dt", {}, metric.label),
        h("dd", {}, h("code", {}, metric.signature)),
      ]),
    ),
  );
}
