/** Training curves: a line a run, or a mean and its range over seeds. */
import { figure } from "../charts/figure";
import { lineChart, type Line } from "../charts/line_chart";
import { variantMark } from "../color";
import { checkbox, segmented, select } from "../controls";
import { curveLines, curveTable, measure, measureKeys, type Grouping } from "../curves";
import type { Report } from "../data";
import { h, type Child } from "../dom";
import { formatValue } from "../format";
import { swatch } from "./swatch";

export function curvesView(report: Report): Child {
  const keys = measureKeys(report.runs);
  const variants = report.variants.filter((variant) =>
    report.runs.some((run) => run.variant === variant.name && run.curve.length > 0),
  );
  const first = keys[0];
  if (first === undefined) return h("p", { class: "empty" }, "No training curve was recorded.");

  const shown = new Set(variants.map((variant) => variant.name));
  let key = first;
  let grouping: Grouping = "runs";
  const several = variants.some(
    (variant) => report.runs.filter((run) => run.variant === variant.name).length > 1,
  );

  const plot = figure({
    title: "Training curves",
    note: "Hollow mark: a run's best epoch, whose weights are kept. Point at the plot, or focus it and use the arrow keys, for the numbers.",
    draw: (width) => {
      const { text, unit } = measure(key, report);
      const lines = curveLines(report, key, grouping, shown);
      const readout = (epoch: number): Child => readoutAt(epoch, lines, unit);
      return lineChart(
        { title: `${text} by epoch`, xLabel: "Epoch", yLabel: text, unit, lines, readout },
        width,
      );
    },
    table: () => curveTable(report),
  });

  const measures = keys.map((value) => ({ value, text: measure(value, report).text }));
  const pick = (value: string): void => {
    key = value;
    plot.redraw();
  };
  return [
    h(
      "div",
      { class: "controls" },
      keys.length <= 4
        ? segmented("Measure", measures, key, pick)
        : select("Measure", measures, key, pick),
      several &&
        segmented<Grouping>(
          "Lines",
          [
            { value: "runs", text: "Each run" },
            { value: "means", text: "Mean and range" },
          ],
          grouping,
          (value) => {
            grouping = value;
            plot.redraw();
          },
        ),
    ),
    variants.length > 1 &&
      h(
        "fieldset",
        { class: "legend" },
        h("legend", { class: "vh" }, "Variants shown"),
        variants.map(({ name }) =>
          checkbox(
            h("span", { class: "who" }, swatch(variantMark(indexOf(report, name))), name),
            true,
            (checked) => {
              if (checked) shown.add(name);
              else shown.delete(name);
              plot.redraw();
            },
          ),
        ),
      ),
    plot.element,
  ];
}

function indexOf(report: Report, name: string): number {
  return report.variants.findIndex((variant) => variant.name === name);
}

function readoutAt(epoch: number, lines: Line[], unit: string): Child {
  const rows = lines.flatMap((line) => {
    const point = line.points.find(({ x }) => x === epoch);
    return point ? [{ line, point }] : [];
  });
  return [
    h("strong", {}, `Epoch ${epoch}`),
    h(
      "table",
      {},
      rows.map(({ line, point }) =>
        h(
          "tr",
          {},
          h("td", {}, swatch(line.mark)),
          h("td", {}, line.name, line.marked === epoch && " (best)"),
          h("td", { class: "figure" }, formatValue(point.y, unit)),
        ),
      ),
    ),
  ];
}
