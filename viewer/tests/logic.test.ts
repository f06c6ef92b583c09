import { describe, expect, it } from "vitest";
import { readsRightToLeft } from "../src/charts/shaded_text";
import { markerPath, shade, variantMark } from "../src/color";
import { toCsv } from "../src/csv";
import { curveLines, measure, measureKeys } from "../src/curves";
import { readReport, type Example, type WeightMap } from "../src/data";
import { fileName } from "../src/download";
import {
  collectItems,
  isRight,
  rankOfRight,
  runsOfSeed,
  selectItems,
  type Query,
} from "../src/examples";
import {
  formatInterval,
  formatP,
  formatSpread,
  formatTime,
  formatValue,
  tickFormat,
} from "../src/format";
import { bestVariants, headlineKeys, metricKeys, metricTable } from "../src/metrics";
import { linear, niceDomain, spread, tickStep, ticks } from "../src/scale";
import { entropy, exampleShare, keyWeights, rationaleShare, shadedInputs } from "../src/weights";
import { fixture } from "./fixture";

const report = readReport(fixture());

describe("scales", () => {
  it("maps the ends of the domain to the ends of the range", () => {
    const scale = linear([0, 10], [100, 0], 5);
    expect([scale(0), scale(5), scale(10)]).toEqual([100, 50, 0]);
    expect(scale.ticks).toEqual([0, 2, 4, 6, 8, 10]);
  });

  it("steps by 1, 2 or 5 and prints ticks without rounding noise", () => {
    expect(tickStep(0, 1, 5)).toBe(0.2);
    expect(tickStep(0, 7, 5)).toBe(1);
    expect(ticks([0, 0.7], 0.1)).toEqual([0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]);
    expect(ticks([-0.5, 0.5], 0.5)).toEqual([-0.5, 0, 0.5]);
  });

  it("holds every value, stays inside its limits, and survives one value or none", () => {
    expect(niceDomain([0.91, 0.98], { limits: [0, 1] })).toEqual([0.91, 0.98]);
    expect(niceDomain([0.991, 1], { limits: [0, 1] })[1]).toBe(1);
    expect(niceDomain([0.1, 0.9])[0]).toBe(0);
    for (const values of [[5], [0], [1], [NaN, 3]]) {
      const [low, high] = niceDomain(values);
      expect(low).toBeLessThan(high);
    }
    expect(niceDomain([NaN])).toEqual([0, 1]);
    const [low, high] = niceDomain([1, 1], { limits: [0, 1] });
    expect(low).toBeLessThan(high);
  });

  it("moves labels apart and keeps their order", () => {
    const placed = spread([50, 51, 52, 10], 16, 0, 100);
    expect(placed[1]! - placed[0]!).toBeGreaterThanOrEqual(16);
    expect(placed[2]! - placed[1]!).toBeGreaterThanOrEqual(16);
    expect(placed[3]).toBe(10);
    expect(Math.max(...spread([99, 99], 16, 0, 100))).toBe(100);
  });
});

describe("numbers", () => {
  it("shows shares in per cent and absent values as a dash", () => {
    expect(formatValue(0.9725, "share")).toBe("97.3\u202f%");
    expect(formatSpread(0.97, 0.012, "share")).toBe("97.0 ± 1.2\u202f%");
    expect(formatSpread(0.97, NaN, "share")).toBe("97.0\u202f%");
    expect(formatValue(NaN, "s")).toBe("–");
    expect(formatValue(52_610, "count")).toBe("52\u2009610");
    expect(formatSpread(52_610, 0, "count")).toBe("52\u2009610");
    expect(formatValue(-0.5, "")).toBe("−0.500");
    expect(formatValue(-0.00001, "share")).toBe("0.0\u202f%");
  });

  it("shows an interval in one unit, and signs where they matter", () => {
    expect(formatInterval([0.912, 0.9, 0.924], "share")).toBe("91.2 [90.0, 92.4]\u202f%");
    expect(formatInterval([0.012, -0.003, 0.027], "share", true)).toBe(
      "+1.2 [\u22120.3, +2.7]\u202f%",
    );
    expect(formatInterval([0.5, NaN, NaN], "share")).toBe("50.0\u202f%");
    expect(formatInterval([NaN, NaN, NaN], "")).toBe("–");
    expect(formatInterval([0, 0, 0], "share", true)).toBe("0.0 [0.0, 0.0]\u202f%");
    expect([formatP(0.0004), formatP(0.0412), formatP(1), formatP(NaN)]).toEqual([
      "< 0.001",
      "0.041",
      "1.000",
      "–",
    ]);
  });

  it("gives ticks the decimals of their step", () => {
    expect(tickFormat(0.2, "")(0.4)).toBe("0.4");
    expect(tickFormat(0.02, "share")(0.96)).toBe("96");
    expect(tickFormat(0.005, "share")(0.965)).toBe("96.5");
  });

  it("writes a time out and leaves other text alone", () => {
    expect(formatTime("2026-11-15T21:00:00Z")).toBe("15 November 2026, 21:00 UTC");
    expect(formatTime("yesterday")).toBe("yesterday");
  });
});

describe("weights", () => {
  const map = (axes: string[], shape: number[], data: number[]): WeightMap => ({
    name: "attention",
    axes,
    shape,
    data,
    queryInput: null,
    keyInput: "text",
  });

  it("averages heads and queries, and leaves absent weights out", () => {
    const heads = map(["head", "query", "key"], [2, 1, 2], [1, 0, 0.5, 0.5]);
    expect(keyWeights(heads)).toEqual([0.75, 0.25]);
    expect(keyWeights(map(["key"], [2], [NaN, 1]))).toEqual([NaN, 1]);
    const dimensions = map(["query", "key", "dim"], [1, 2, 2], [0.2, 0.4, 0.8, 0.6]);
    expect(keyWeights(dimensions)[0]).toBeCloseTo(0.3);
  });

  it("measures the share on the rationale and the entropy", () => {
    expect(rationaleShare([0.25, 0.5, 0.25], [0, 1, 0])).toBe(0.5);
    expect(rationaleShare([0.5, 0.5], [0, 0])).toBeNaN();
    expect(rationaleShare(null, [1])).toBeNaN();
    expect(entropy([1, 0, 0])).toBe(0);
    expect(entropy([0.25, 0.25, 0.25, 0.25])).toBeCloseTo(Math.log(4));
    expect(entropy([0, 0])).toBeNaN();
  });

  it("shows inputs that nothing attends to as plain text", () => {
    const example = { ...report.runs[0]!.examples[0]!, maps: [] };
    expect(shadedInputs(example)).toMatchObject([{ input: "text", map: null, weights: null }]);
  });

  it("shades from nothing to full colour and never beyond", () => {
    expect([shade(0, 1), shade(0.5, 1), shade(0.3, 0.3), shade(2, 1), shade(-1, 1)]).toEqual([
      0, 0.5, 1, 1, 0,
    ]);
    expect(shade(NaN, 1)).toBe(0);
    expect(shade(0.5, 0)).toBe(0);
  });

  it("starts a line on the side of its first letter", () => {
    expect(readsRightToLeft(["12", "الطعام", "good"])).toBe(true);
    expect(readsRightToLeft(["good", "שלום"])).toBe(false);
    expect(readsRightToLeft(["…"])).toBe(false);
  });

  it("tells 210 variants apart", () => {
    const marks = new Set(Array.from({ length: 210 }, (_, i) => JSON.stringify(variantMark(i))));
    expect(marks.size).toBe(210);
    for (let i = 0; i < 7; i += 1) {
      expect(markerPath(variantMark(i).shape, 3, 4, 5)).toMatch(/^M[-\d. La]+Z$/);
    }
  });
});

describe("sentences", () => {
  const items = collectItems(report.runs);
  const shown = runsOfSeed(report.runs, ["mean-pool", "additive"], 2);
  const judge = shown[1]!;
  const ask = (query: Partial<Query>): string[] =>
    selectItems(items, {
      filter: "all",
      label: null,
      search: "",
      sort: "id",
      judge,
      shown,
      ...query,
    }).map((item) => item.id);

  it("holds one item an example, in order of number", () => {
    expect(items).toHaveLength(40);
    expect(
      items
        .slice(0, 10)
        .map((item) => item.id)
        .at(-1),
    ).toBe("test-10");
    expect(items[0]!.byRun.size).toBe(12);
  });

  it("splits into right and wrong by the judge", () => {
    const right = ask({ filter: "right" });
    const wrong = ask({ filter: "wrong" });
    expect(right.length + wrong.length).toBe(40);
    const own = judge.examples.filter((example) => isRight(example) === false);
    expect(wrong.sort()).toEqual(own.map((example) => example.id).sort());
  });

  it("finds where the shown variants disagree", () => {
    const ids = ask({ filter: "disagree" });
    expect(ids.length).toBeGreaterThan(0);
    for (const id of ids) {
      const labels = shown.map(
        (run) => run.examples.find((example) => example.id === id)!.prediction!.label,
      );
      expect(new Set(labels).size).toBe(2);
    }
    expect(ask({ filter: "disagree", shown: [judge] })).toEqual([]);
  });

  it("filters by label and searches across words, ignoring case", () => {
    expect(ask({ label: "positive" }).length + ask({ label: "negative" }).length).toBe(40);
    expect(ask({ search: "  THE   food " }).length).toBeGreaterThan(0);
    expect(ask({ search: "<script>" })).toContain("test-4");
    expect(ask({ search: "no such words" })).toEqual([]);
  });

  it("sorts by weight on the rationale, absent ones last", () => {
    const share = (id: string): number =>
      exampleShare(judge.examples.find((example) => example.id === id)!);
    const up = ask({ sort: "share-up" }).map(share);
    expect(up).toEqual([...up].sort((a, b) => a - b));
    expect(ask({ sort: "share-down" }).map(share)).toEqual(up.reverse());
    const stranger = { ...judge, name: "not there" };
    expect(ask({ sort: "entropy-up", judge: stranger })).toEqual(ask({}));
  });

  it("falls back to a variant's first run when it lacks the seed", () => {
    expect(runsOfSeed(report.runs, ["general"], 99).map((run) => run.name)).toEqual(["general-1"]);
  });
});

describe("answers that rank", () => {
  const example = report.runs[0]!.examples[0]!;
  const ranked = (sequence: string[]): Example => ({
    ...example,
    gold: { ...example.gold!, label: "rope", sequence: undefined },
    prediction: { ...example.prediction!, label: sequence[0]!, sequence },
  });

  it("are right when the right one is among them", () => {
    expect(rankOfRight(ranked(["rod", "rope"]))).toBe(2);
    expect(isRight(ranked(["rod", "rope"]))).toBe(true);
    expect(isRight(ranked(["rod", "hook"]))).toBe(false);
    expect(rankOfRight(example)).toBeNull();
  });
});

describe("metrics", () => {
  it("puts accuracy and correctness first", () => {
    expect(metricKeys(report.variants)).toEqual([
      "accuracy",
      "correctness",
      "seconds",
      "parameters",
    ]);
  });

  it("puts a task's own measure before the weight on the rationale, and only these in plots", () => {
    const hit = { ...report.variants[0]!.metrics.get("accuracy")!, label: "Hit rate at 10" };
    const kept = [...report.variants[0]!.metrics].filter(([key]) => key !== "accuracy");
    const variants = [{ ...report.variants[0]!, metrics: new Map([["hr", hit], ...kept]) }];
    expect(metricKeys(variants).slice(0, 2)).toEqual(["hr", "correctness"]);
    expect(headlineKeys(variants)).toEqual(["hr", "correctness"]);
    variants[0]!.metrics.delete("correctness");
    expect(headlineKeys(variants)).toEqual(["hr"]);
    expect(measure("val_hr", { ...report, variants })).toEqual({
      text: "Hit rate at 10, validation",
      unit: "share",
    });
  });

  it("finds the best by the better end, and none where there is nothing to compare", () => {
    expect([...bestVariants(report.variants, "accuracy")]).toEqual(["additive"]);
    expect([...bestVariants(report.variants, "parameters")]).toEqual(["mean-pool"]);
    expect(bestVariants(report.variants.slice(0, 1), "accuracy").size).toBe(0);
    expect(bestVariants(report.variants, "absent").size).toBe(0);
  });

  it("gives a row a seed", () => {
    expect(metricTable(report.variants, ["accuracy"]).rows).toHaveLength(12);
  });
});

describe("curves", () => {
  it("draws a line a run, or one mean a variant with its range", () => {
    const shown = new Set(["additive", "general"]);
    expect(measureKeys(report.runs)[0]).toBe("val_accuracy");
    expect(curveLines(report, "val_loss", "runs", shown)).toHaveLength(6);
    const means = curveLines(report, "val_loss", "means", shown);
    expect(means.map((line) => line.group)).toEqual(["additive", "general"]);
    for (const { y, low, high } of means[0]!.points) {
      expect(low).toBeLessThanOrEqual(y);
      expect(high).toBeGreaterThanOrEqual(y);
    }
    const shortest = Math.min(...report.runs.slice(3, 6).map((run) => run.curve.length));
    expect(means[0]!.points).toHaveLength(shortest);
  });
});

describe("files", () => {
  it("quotes commas, quotes and line ends, and keeps numbers whole", () => {
    const table = {
      columns: ["a", "b"],
      rows: [
        ['say "hi", you', 0.1],
        ["two\nlines", NaN],
        [" x", null],
      ],
    };
    expect(toCsv(table)).toBe('a,b\r\n"say ""hi"", you",0.1\r\n"two\nlines",\r\n" x",\r\n');
  });

  it("makes harmless file names", () => {
    expect(fileName('../"Test" accuracy', "csv")).toBe("heed-test-accuracy.csv");
    expect(fileName("<>", "svg")).toBe("heed-picture.svg");
  });
});
