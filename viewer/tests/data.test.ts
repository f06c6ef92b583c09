import { describe, expect, it } from "vitest";
import { DataError, parseReport, readReport } from "../src/data";
import { ablationTable } from "../src/ablation";
import { ablationReport } from "./ablation_fixture";
import { fixture, singleRun, type Json } from "./fixture";

const changed = (change: (report: Json) => void): Json => {
  const report = structuredClone(fixture());
  change(report);
  return report;
};

describe("readReport", () => {
  it("reads the whole fixture without a complaint", () => {
    const report = readReport(fixture());
    expect(report.problems).toEqual([]);
    expect(report.variants.map((variant) => variant.name)).toEqual([
      "mean-pool",
      "additive",
      "scaled-dot",
      "general",
    ]);
    expect(report.runs).toHaveLength(12);
    expect(report.runs[0]!.examples).toHaveLength(40);
    expect(report.runs[0]!.curve[0]!.values.get("val_loss")).toBeGreaterThan(0);
    expect(report.task.counts).toEqual([
      ["train", 2000],
      ["val", 400],
      ["test", 400],
    ]);
  });

  it("reads a single run, whose spread is unknown", () => {
    const report = readReport(singleRun());
    expect(report.problems).toEqual([]);
    expect(report.variants[0]!.metrics.get("accuracy")!.sd).toBeNaN();
  });

  it("reads an ablation, and a table of it has a line a row", () => {
    const { ablation, problems } = readReport(ablationReport());
    expect(problems).toEqual([]);
    const { columns, rows } = ablationTable(ablation!);
    expect(rows).toHaveLength(6);
    for (const row of rows) expect(row).toHaveLength(columns.length);
    const cell = (row: number, column: string) => rows[row]![columns.indexOf(column)];
    expect(cell(0, "val_accuracy")).toBeCloseTo(0.975);
    expect(cell(0, "p_corrected")).toBe(0.004);
    expect(cell(1, "failures")).toContain("signal 9");
    expect(cell(2, "difference")).toBeNull();
    expect(cell(4, "does_not_fit")).toContain("multi");
    expect(readReport(fixture()).ablation).toBeNull();
    const broken = ablationReport();
    broken.ablation.rows[0].val.accuracy.mean = "high";
    expect(() => readReport(broken)).toThrow("ablation.rows[0].val.accuracy.mean");
  });

  it("takes null for NaN and needs no optional field", () => {
    const report = readReport({
      version: 1,
      variants: [{ name: "a", metrics: { accuracy: { mean: null, values: [null] } } }],
      runs: [
        {
          name: "a-1",
          variant: "a",
          curve: [{ epoch: 1, val_loss: null }],
          examples: [{ id: "x", inputs: { text: ["hi"] } }],
        },
      ],
    });
    expect(report.problems).toEqual([]);
    expect(report.variants[0]!.metrics.get("accuracy")!.mean).toBeNaN();
    expect(report.runs[0]!.curve[0]!.values.get("val_loss")).toBeNaN();
    expect(report.runs[0]!.examples[0]).toMatchObject({ maps: [], gold: null, prediction: null });
  });

  it("refuses what it cannot show at all, and says where", () => {
    expect(() => parseReport("{ nonsense")).toThrow(DataError);
    expect(() => readReport([])).toThrow("expected an object, found a list of 0");
    expect(() => readReport({ version: 2 })).toThrow("this page reads version 1");
    expect(() => readReport({ version: 1, variants: [] })).toThrow(
      "runs: expected a list, found nothing",
    );
  });

  it("leaves out a broken item, keeps the others and names it", () => {
    const report = readReport(
      changed(({ runs }) => {
        runs[0].variant = "unheard-of";
        runs[1].examples[4].id = 17;
        runs[2].curve[0].epoch = "one";
      }),
    );
    expect(report.runs).toHaveLength(11);
    expect(report.runs[0]!.examples).toHaveLength(39);
    expect(report.problems).toEqual([
      'runs[0].variant: no variant is named "unheard-of"',
      "runs[1].examples[4].id: expected a string, found 17",
      'runs[2].curve[0].epoch: expected a number, found "one"',
    ]);
  });

  it("leaves out a map whose weights do not fit its shape or its tokens", () => {
    const report = readReport(
      changed(({ runs }) => {
        const [first, second] = runs[0].examples;
        first.maps[0].data.pop();
        second.maps[0].shape = [1, 1, 2];
        second.maps[0].data = [0.5, 0.5];
      }),
    );
    expect(report.runs[0]!.examples[0]!.maps).toEqual([]);
    expect(report.runs[0]!.examples[1]!.maps).toEqual([]);
    expect(report.problems[0]).toMatch(
      /^runs\[0\]\.examples\[0\]\.maps\[0\]\.data: \d+ weights for a shape of 1 × 1 × /,
    );
    expect(report.problems[1]).toMatch(/shape: 2 keys for the \d+ tokens of "text"$/);
  });
});
