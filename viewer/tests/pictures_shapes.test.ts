// @vitest-environment jsdom
import { beforeEach, describe, expect, it } from "vitest";
import { outlinedCells, shadedCells } from "../src/charts/cells";
import { readReport } from "../src/data";
import { standaloneSvg } from "../src/download";
import { render } from "../src/main";
import { frameMaps, goldSpans } from "../src/pictures/frames";
import { layersOf, neighbourhood } from "../src/pictures/graph";
import { distinctNames, filmPanels, stillPanels } from "../src/pictures/panels";
import { pictureOf } from "../src/pictures";
import type { Subject } from "../src/pictures/picture";
import { pointTask } from "../src/pictures/points";
import { histories } from "../src/pictures/recommend";
import type { Json } from "./fixture";
import {
  filmExample,
  graphExample,
  historyExample,
  imageExample,
  pointsExample,
  reportOf,
  soundExample,
} from "./shapes_fixture";

function subject(kind: string, example: Json): Subject {
  const report = readReport(reportOf(kind, example));
  expect(report.problems).toEqual([]);
  const run = report.runs[0]!;
  return { report, run, example: run.examples[0]!, full: 1 };
}

const kKinds: [kind: string, id: string, example: () => Json][] = [
  ["point", "points", pointsExample],
  ["graph", "graph", graphExample],
  ["image", "image", imageExample],
  ["image", "film", filmExample],
  ["recommend", "recommend", historyExample],
  ["translate", "frames", soundExample],
];

let app: HTMLElement;
beforeEach(() => {
  document.body.replaceChildren((app = document.createElement("div")));
});
const show = (kind: string, example: Json): void =>
  render(app, JSON.stringify(reportOf(kind, example)));

describe("pictures of shapes", () => {
  it.each(kKinds)("of kind %s are drawn as %s", (kind, id, example) => {
    expect(pictureOf(subject(kind, example()), "").id).toBe(id);
    show(kind, example());
    expect(app.querySelectorAll(".notice")).toHaveLength(0);
    expect(app.querySelectorAll(".shape svg.chart").length).toBeGreaterThan(0);
    expect(app.querySelectorAll(".shape .exports button").length).toBeGreaterThanOrEqual(2);
    expect(app.innerHTML).not.toContain("NaN");
    expect(app.querySelectorAll("script")).toHaveLength(0);
    for (const mark of app.querySelectorAll(".shape svg.chart [tabindex]")) {
      expect(mark.getAttribute("aria-label")).not.toBe("");
    }
  });

  it("falls back to shaded text without shapes", () => {
    for (const [kind, , example] of kKinds) {
      const plain = example();
      for (const key of ["values", "neighbours", "grids", "pictures"]) delete plain[key];
      const { id } = pictureOf(subject(kind === "recommend" ? "classify" : kind, plain), "");
      expect(["points", "graph", "image", "film", "frames", "recommend"]).not.toContain(id);
    }
  });

  it("names a broken shape and keeps the example", () => {
    const broken: [string, Json][] = [
      ["values", { points: [[1, 2]] }],
      ["grids", { points: [2, 2] }],
      ["levels", { points: [1, 1] }],
      ["views", { points: { of: "points", begin: 2, end: 9 } }],
      ["views", { points: { of: "nothing", begin: 0, end: 0 } }],
      ["pictures", { points: ["https://heed.invalid/x.png"] }],
      ["neighbours", { points: ["a"] }],
      ["neighbours", { nothing: ["a"] }],
    ];
    for (const [key, value] of broken) {
      const report = readReport(reportOf("point", { ...pointsExample(), [key]: value }));
      expect(report.problems.join(), JSON.stringify(value)).toContain(`examples[0].${key}`);
      expect(report.runs[0]!.examples).toHaveLength(1);
    }
  });
});

describe("points", () => {
  it("are told apart by step; the end takes the rest", () => {
    const task = pointTask(subject("point", pointsExample()).example)!;
    expect([task.chosen, task.right]).toEqual([
      [0, 2],
      [0, 1, 2],
    ]);
    expect(task.weights[1]).toEqual([0, 0.4, 0.6]);
    show("point", pointsExample());
    const field = app.querySelector<HTMLInputElement>(".shape input[type=range]")!;
    const told = (step: number): string => {
      field.value = String(step);
      field.dispatchEvent(new Event("input"));
      return app.querySelector(".shape output")!.textContent!;
    };
    expect(told(2)).toBe("step 2 of 3: point 2, weight 0.600, 1 is right");
    expect(told(3)).toBe("step 3 of 3: the end, weight 0.900");
    expect(app.querySelectorAll(".point .now")).toHaveLength(0);
    expect(told(1)).toBe("step 1 of 3: point 0, weight 0.700");
    expect(app.querySelectorAll(".point .now")).toHaveLength(1);
  });

  it("on a line stand by their place and number", () => {
    const line = { ...pointsExample(), values: { points: [[0.5], [0.25], [1]] } };
    expect(pointTask(subject("point", line).example)!.points).toEqual([
      [0, 0.5],
      [1, 0.25],
      [2, 1],
    ]);
  });
});

describe("neighbourhoods", () => {
  it("weigh relations, then neighbours; a head or the mean of all", () => {
    const { example } = subject("graph", graphExample());
    const maps = layersOf(example).get("layer 1")!;
    const [cites, near] = neighbourhood(example, maps, null);
    expect([cites!.weight, near!.weight]).toEqual([0.75, 0.25]);
    const mean = Object.fromEntries(cites!.neighbours.map(({ id, weight }) => [id, weight]));
    expect(mean["n1"]).toBeCloseTo(0.3);
    expect(mean["n3"]).toBeCloseTo(0.2);
    const [second] = neighbourhood(example, maps, 1);
    expect(second!.neighbours.find(({ id }) => id === "n3")!.weight).toBe(0.1);
    expect(cites!.neighbours.filter(({ self }) => self).map(({ id }) => id)).toEqual(["n1"]);
  });

  it("show the fifty heaviest of many", () => {
    const crowd = graphExample();
    const weights = Array.from({ length: 80 }, (_, i) => i / 3160);
    crowd["inputs"] = { edges: weights.map((_, i) => `n${i + 2}`) };
    crowd["neighbours"] = { edges: weights.map(() => "negative") };
    crowd["maps"] = [
      {
        ...crowd["maps"][1],
        name: "layer 1",
        key_input: "edges",
        shape: [1, 1, 80],
        data: weights,
      },
    ];
    const { example } = subject("graph", crowd);
    const [view] = neighbourhood(example, layersOf(example).get("layer 1")!, null);
    expect([view!.neighbours.length, view!.left]).toEqual([50, 30]);
    expect(Math.min(...view!.neighbours.map(({ weight }) => weight))).toBe(30 / 3160);
  });
});

describe("images", () => {
  it("have a panel for each capsule, named by its class", () => {
    const panels = stillPanels(subject("image", imageExample()), false);
    expect(panels.map(({ title, said, right }) => [title, said, right])).toEqual([
      ["negative", true, false],
      ["positive", false, true],
    ]);
    expect(panels[1]!.weights).toEqual([0.7, 0.1, 0.1, 0.1]);
    expect(panels[0]!.gold).toEqual([1, 1, 0, 0]);
  });

  it("have a panel for each head, or the mean of them", () => {
    const heads = imageExample();
    heads["maps"] = [
      { ...heads["maps"][0], name: "attention", shape: [2, 1, 4], data: [1, 0, 0, 0, 0, 0, 0, 1] },
    ];
    const seen = subject("image", heads);
    expect(stillPanels(seen, true).map(({ title }) => title)).toEqual([
      "attention, head 1",
      "attention, head 2",
    ]);
    expect(stillPanels(seen, false)[0]!.weights).toEqual([0.5, 0, 0, 0.5]);
  });

  it("can have a scale of their own", () => {
    show("image", imageExample());
    const strongest = (): number[] =>
      [...app.querySelectorAll(".panel")].map((panel) =>
        Math.max(
          ...[...panel.querySelectorAll(".overlay")].map((path) =>
            Number(path.getAttribute("fill-opacity")),
          ),
        ),
      );
    expect(strongest()[0]).toBeLessThan(0.45); // 0.4 of 0.7, at the opacity of 0.7
    expect(strongest()[1]).toBe(0.7);
    const own = app.querySelector<HTMLInputElement>(".shape input[value=own]")!;
    own.dispatchEvent(new Event("change"));
    expect(strongest()).toEqual([0.7, 0.7]);
    expect(app.querySelector(".shape .numbers")!.textContent).toContain("of each panel");
  });

  it("are named by what tells their maps apart", () => {
    expect(distinctNames(["t/layer 1/self", "t/layer 2/self"])).toEqual(["layer 1", "layer 2"]);
    expect(distinctNames(["t/self"])).toEqual(["t/self"]);
    expect(distinctNames(["a", "a"])).toEqual(["a", "a"]);
    expect(distinctNames(["a/x", "a"])).toEqual(["x", "a"]);
  });

  it("that ask themselves show what a picked cell asks for", () => {
    const self = imageExample();
    const weights = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0.5, 0, 0, 0.5];
    self["maps"] = [
      { ...self["maps"][0], name: "self", query_input: "image", shape: [1, 4, 4], data: weights },
    ];
    const seen = subject("image", self);
    expect(stillPanels(seen, false)[0]!.weights).toEqual([0.375, 0.25, 0.25, 0.125]);
    expect(stillPanels(seen, false, 3)[0]!.weights).toEqual([0.5, 0, 0, 0.5]);
    show("image", self);
    const press = (key: string): void => {
      const sheet = app.querySelector(".shape .hit")!;
      sheet.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    };
    press("ArrowRight");
    press("ArrowDown");
    press("Enter");
    const said = (): string => app.querySelector(".asking output")!.textContent!;
    expect(said()).toContain("row 2, column 1");
    expect(app.querySelectorAll(".asked")).toHaveLength(1);
    app.querySelector<HTMLElement>(".asking button")!.click();
    expect(said()).toContain("mean");
    expect(app.querySelectorAll(".asked")).toHaveLength(0);
  });

  it("of a film have the weight of the frame and the map inside it", () => {
    const panels = filmPanels(subject("image", filmExample()));
    expect(panels.map(({ note }) => note)).toEqual(["0.200", "0.800"]);
    expect(panels[0]!.weights).toEqual([0.9, 0.1]);
    expect(panels[1]!.weights.map((w) => w.toFixed(2))).toEqual(["0.30", "0.70"]);
  });

  it("are saved with the picture in them", () => {
    show("image", imageExample());
    const saved = standaloneSvg(app.querySelector<SVGSVGElement>(".shape svg.chart")!);
    expect(saved).toContain("data:image/png;base64,");
    expect(saved).not.toContain("Arrow keys"); // the sheet that reads cells is for the screen
  });
});

describe("histories", () => {
  it("put short-term weights where the items stand", () => {
    const [history] = histories(subject("recommend", historyExample()).example);
    expect(history!.looks.map(({ name }) => name)).toEqual(["long-term", "short-term"]);
    expect(history!.looks[1]!.weights).toEqual([NaN, NaN, 0.6, 0.4]);
  });

  it("mark the item that was taken, or say that it is not there", () => {
    show("recommend", historyExample());
    expect(app.querySelector(".hit-item")!.textContent).toBe("x ✓ taken");
    const missed = historyExample();
    missed["gold"] = { label: "w" };
    show("recommend", missed);
    expect(app.querySelector(".ranked")!.textContent).toContain(
      "Taken: w, which is not among these 3.",
    );
  });
});

describe("sound", () => {
  it("has spans of the right symbols", () => {
    const { example } = subject("translate", soundExample());
    expect(goldSpans(example)).toEqual([
      { symbol: "aa", first: 0, last: 1 },
      { symbol: "t", first: 2, last: 3 },
    ]);
    expect(frameMaps(example)).toHaveLength(1);
  });

  it("reads its cells with the arrow keys", () => {
    show("translate", soundExample());
    const sheet = app.querySelector(".shape .hit")!;
    const press = (key: string): string => {
      sheet.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
      return document.querySelector(".tooltip")!.textContent!;
    };
    expect(press("ArrowRight")).toBe("aa at frame 1: 0.500, right");
    press("ArrowRight");
    press("ArrowRight");
    expect(press("ArrowDown")).toBe("k at frame 3: 1.000");
  });
});

describe("cells", () => {
  const box = { x: 0, y: 0, width: 30, height: 20, rows: 2, columns: 3 };
  const paths = (child: unknown): SVGPathElement[] => child as SVGPathElement[];

  it("of one shade are one path, and none without weight", () => {
    const drawn = paths(shadedCells([0, 0.5, 0.5, 1, NaN, 0.001], box, { full: 1 }));
    expect(drawn.map((path) => path.getAttribute("fill-opacity"))).toEqual(["0.500", "1.000"]);
    expect(drawn[0]!.getAttribute("d")!.match(/M/g)).toHaveLength(2);
  });

  it("that are marked side by side share an outline", () => {
    const one = outlinedCells((cell) => cell === 0, box) as SVGPathElement;
    const two = outlinedCells((cell) => cell < 2, box) as SVGPathElement;
    expect(one.getAttribute("d")!.match(/M/g)).toHaveLength(4);
    expect(two.getAttribute("d")!.match(/M/g)).toHaveLength(6);
    expect(outlinedCells(() => false, box)).toBe(false);
  });
});
