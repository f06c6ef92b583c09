// @vitest-environment jsdom
import { beforeEach, describe, expect, it } from "vitest";
import { readAudit } from "../src/audit";
import { readReport, type Example } from "../src/data";
import { largest, plane } from "../src/matrix";
import { kPictures, pictureOf } from "../src/pictures";
import { thumbnail } from "../src/pictures/heads";
import { rightCells } from "../src/pictures/heat_map";
import { levelsOf } from "../src/pictures/hierarchy";
import { jointWeights, twoTexts } from "../src/pictures/linked";
import { featurePlane } from "../src/pictures/multi_dimensional";
import type { Subject } from "../src/pictures/picture";
import { looks } from "../src/pictures/side_by_side";
import { unpack } from "../src/packed";
import { Reader } from "../src/reader";
import { differences, totalVariation } from "../src/views/difference";
import { peaks } from "../src/views/overview";
import { singleRun, type Json } from "./fixture";

/** A report of one example, read as any other. */
function subjectOf(example: Json): Subject {
  const base = singleRun();
  base["runs"][0].examples = [{ id: "test-1", prediction: { label: "positive" }, ...example }];
  const report = readReport(base);
  expect(report.problems).toEqual([]);
  const run = report.runs[0]!;
  return { report, run, example: run.examples[0]!, full: 1 };
}

const map = (name: string, shape: number[], data: number[], more: Json = {}): Json => ({
  name,
  axes: ["head", "query", "key"],
  key_input: "text",
  shape,
  data,
  ...more,
});

const kWords = ["a", "b", "c"];
const plain = (): Subject =>
  subjectOf({ inputs: { text: kWords }, maps: [map("attention", [1, 1, 3], [0.5, 0.3, 0.2])] });
const selfAttention = (): Subject =>
  subjectOf({
    inputs: { text: ["a", "b"] },
    maps: [map("self", [2, 2, 2], [1, 0, 0.5, 0.5, 0, 1, 0.25, 0.75], { query_input: "text" })],
  });

beforeEach(() => document.body.replaceChildren());

describe("which picture is shown", () => {
  const titleOf = (subject: Subject): string => pictureOf(subject, "").id;
  it("is shaded text for one look at a text", () => expect(titleOf(plain())).toBe("shaded"));
  it("is a heat map where several queries ask", () =>
    expect(titleOf(selfAttention())).toBe("heat-map"));
  it("is what was asked for, where it fits", () => {
    expect(pictureOf(selfAttention(), "heads").id).toBe("heads");
    expect(pictureOf(plain(), "heads").id).toBe("shaded");
  });
  it("never fails to be drawn", () => {
    for (const subject of [plain(), selfAttention()]) {
      for (const picture of kPictures.filter(({ fits }) => fits(subject))) {
        const box = document.createElement("div");
        document.body.append(box);
        expect(() => picture.draw(subject), picture.id).not.toThrow();
      }
    }
  });
});

describe("matrices", () => {
  it("are one head's, or the mean of all", () => {
    const { example } = selfAttention();
    const self = example.maps[0]!;
    expect([...plane(example, self, 1).values]).toEqual([0, 1, 0.25, 0.75]);
    expect([...plane(example, self, null).values]).toEqual([0.5, 0.5, 0.375, 0.625]);
    expect(plane(example, self, null).rows).toEqual(["a", "b"]);
  });
  it("keep the largest weight of each block when they are made small", () => {
    const size = 130;
    const data = new Array<number>(size * size).fill(0);
    data[129 * size + 0] = 0.75;
    const { maps } = subjectOf({
      inputs: { text: Array.from({ length: size }, String) },
      maps: [map("self", [1, size, size], data, { query_input: "text" })],
    }).example;
    const small = thumbnail(maps[0]!, 0);
    expect(small.rows.length).toBeLessThanOrEqual(64);
    expect(small.values[(small.rows.length - 1) * small.columns.length]).toBe(0.75);
    expect(largest(small.values)).toBe(0.75);
  });
  it("come out of bytes as they went in, to a step of the root", () => {
    const weights = [0, 1e-4, 0.002, 0.3, 0.7];
    const bytes = Buffer.from(weights.map((weight) => Math.round(255 * Math.sqrt(weight / 0.7))));
    const back = unpack(bytes.toString("base64"), 0.7);
    weights.forEach((weight, i) => {
      expect(Math.abs(Math.sqrt(back[i]! / 0.7) - Math.sqrt(weight / 0.7))).toBeLessThan(
        0.5 / 255 + 1e-6,
      );
    });
  });
});

describe("shapes of attention", () => {
  it("finds hops and heads that look at the same words", () => {
    const { example } = subjectOf({
      inputs: { text: kWords },
      maps: [1, 2].map((hop) => map(`hop ${hop}`, [1, 1, 3], [0.2, 0.3, 0.5])),
    });
    expect(looks(example).map(({ name }) => name)).toEqual(["hop 1", "hop 2"]);
  });
  it("finds sentences and the words inside", () => {
    const subject = subjectOf({
      inputs: { text: ["a", "b", "c"], "text (sentences)": ["a b", "c"] },
      levels: { text: [2, 1] },
      maps: [
        map("words", [1, 2, 3], [0.4, 0.6, 0, 0, 0, 1], { query_input: "text (sentences)" }),
        { ...map("sentences", [1, 1, 2], [0.9, 0.1]), key_input: "text (sentences)" },
      ],
    });
    expect(levelsOf(subject.example)?.lengths).toEqual([2, 1]);
    expect(pictureOf(subject, "").id).toBe("hierarchy");
    const drawn = pictureOf(subject, "").draw(subject) as HTMLElement;
    expect(
      [...drawn.querySelectorAll("li")].map((line) => line.querySelectorAll(".token").length),
    ).toEqual([2, 1]);
    expect(drawn.querySelector(".sentence-weight")!.textContent).toContain("90.0");
  });
  it("weighs pairs of words by both", () => {
    const { example } = subjectOf({
      inputs: { first: ["a", "b"], second: ["x"] },
      maps: [
        { ...map("first", [1, 1, 2], [0.25, 0.75]), key_input: "first" },
        { ...map("second", [1, 1, 1], [1]), key_input: "second" },
      ],
    });
    const [first, second] = twoTexts(example)!;
    expect([...jointWeights(example, first, second).values]).toEqual([0.25, 0.75]);
    expect(twoTexts(plain().example)).toBeNull();
  });
  it("shows each feature's weights along a row", () => {
    const { example } = subjectOf({
      inputs: { text: ["a", "b"] },
      maps: [
        map("attention", [1, 1, 2], [0.5, 0.5], {
          features: { shape: [1, 1, 2, 3], data: [0.1, 0.2, 0.3, 0.9, 0.8, 0.7] },
        }),
      ],
    });
    const matrix = featurePlane(example, example.maps[0]!);
    expect([matrix.rows.length, matrix.columns.length]).toEqual([3, 2]);
    expect([...matrix.values].map((weight) => Number(weight.toFixed(1)))).toEqual([
      0.1, 0.9, 0.2, 0.8, 0.3, 0.7,
    ]);
  });
  it("frames right links only where the right word was written", () => {
    const { example } = subjectOf({
      inputs: { text: ["le", "chat"], target: ["the", "dog"] },
      maps: [map("attention", [1, 2, 2], [1, 0, 0, 1], { query_input: "target" })],
      gold: {
        sequence: ["the", "cat"],
        links: [
          [0, 0],
          [1, 1],
        ],
      },
    });
    const right = rightCells(example, example.maps[0]!)!;
    expect([right(0, 0), right(1, 1), right(0, 1)]).toEqual([true, false, false]);
  });
});

describe("two runs on one example", () => {
  const with_ = (data: number[]): Example =>
    subjectOf({ inputs: { text: kWords }, maps: [map("attention", [1, 1, 3], data)] }).example;
  it("are subtracted word by word", () => {
    const [line] = differences(with_([0.5, 0.3, 0.2]), with_([0.1, 0.3, 0.6]));
    expect(line!.weights!.map((d) => Number(d.toFixed(3)))).toEqual([0.4, 0, -0.4]);
    expect(totalVariation(line!.weights!)).toBeCloseTo(0.4);
  });
  it("with other words have nothing in common", () => {
    const other = subjectOf({ inputs: { text: ["x"] }, maps: [map("attention", [1, 1, 1], [1])] });
    expect(differences(with_([0.5, 0.3, 0.2]), other.example)).toEqual([]);
  });
});

describe("a long document", () => {
  it("has in its strip the heaviest token of each stretch", () => {
    expect(peaks([0.1, 0.7, 0.2, 0, 0, 0.05], 2)).toEqual([1, 5]);
    expect(peaks([0.9, 0.1], 1)).toEqual([0]);
    expect(peaks([0.5, 0.5], 4)).toEqual([0, 0, 1, 1]);
  });
});

describe("an audit", () => {
  const estimate = { count: 5, mean: 0.4, low: 0.3, high: 0.5 };
  it("is read into figures and other models", () => {
    const audit = readAudit(
      new Reader(
        {
          verdict: ["Say this."],
          scores: { accuracy: 0.8 },
          tests: {
            agreement: {
              measure: "tau",
              "attention-gradient": { overall: estimate, by_class: { "0": estimate } },
            },
            permutation: {
              overall: estimate,
              by_greatest_weight: [{ greatest_weight_from: 0, to: 0.25, ...estimate }],
            },
            rationales: { skipped: "no rationales" },
            "adversary-0.1": {
              test: { accuracy: 0.7 },
              output_change: estimate,
              weights_distance: estimate,
            },
          },
        },
        "audit",
      ),
    )!;
    expect(audit.verdict).toEqual(["Say this."]);
    expect(audit.tests.map(({ rows }) => rows.map(({ name }) => name.trim()))).toEqual([
      ["attention – gradient", "class 0"],
      ["overall", "0.00–0.25"],
    ]);
    expect(audit.models.map(({ name, accuracy }) => [name, accuracy])).toEqual([
      ["this model", 0.8],
      ["adversary-0.1", 0.7],
    ]);
    expect(audit.skipped).toEqual([["rationales", "no rationales"]]);
  });
  it("that was not made is none", () => expect(readAudit(new Reader(null, "audit"))).toBeNull());
});
