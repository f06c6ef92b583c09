/** What the report is about, and its verdict. */
import type { Report } from "../data";
import { h, type Child } from "../dom";
import { formatCount, formatTime, formatValue } from "../format";

export function headerView(report: Report): HTMLElement {
  const [verdict, ...more] = report.summary;
  const facts: [string, Child][] = [
    ["Task", report.task.kind],
    ["Data", report.task.data],
    [
      "Size",
      report.task.counts
        .map(([split, size]) => `${formatValue(size, "count")} ${split}`)
        .join(" · "),
    ],
    ["Labels", labels(report.task.labels)],
    ["Compared", compared(report)],
    ["Made", report.created && h("time", { datetime: report.created }, formatTime(report.created))],
    ["Machine", report.machine],
    ["Command", report.command && h("code", {}, report.command)],
  ];
  return h(
    "header",
    { class: "intro" },
    h("h1", {}, report.title),
    verdict && h("p", { class: "verdict" }, verdict),
    more.map((sentence) => h("p", { class: "summary" }, sentence)),
    h(
      "dl",
      { class: "facts" },
      facts
        .filter(([, value]) => value !== "")
        .map(([term, value]) => h("div", {}, h("dt", {}, term), h("dd", {}, value))),
    ),
    report.problems.length > 0 && problems(report.problems),
  );
}

const kMostLabels = 12;

/** Of a recommender they are all items there are. */
function labels(all: string[]): string {
  return all.length > kMostLabels ? formatValue(all.length, "count") : all.join(" · ");
}

function compared({ variants, runs }: Report): string {
  return `${formatCount(variants.length, "variant")}, ${formatCount(runs.length, "run")}`;
}

function problems(list: string[]): HTMLElement {
  const shown = list.slice(0, 20);
  return h(
    "div",
    { class: "notice", role: "note" },
    h("p", {}, h("strong", {}, "Some of the data could not be read and is left out.")),
    h(
      "ul",
      {},
      shown.map((problem) => h("li", {}, h("code", {}, problem))),
      list.length > shown.length && h("li", {}, `and ${list.length - shown.length} more`),
    ),
  );
}
