// @vitest-environment jsdom
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Api, readReply, requestBody, type Edits } from "../src/live/api";
import { start } from "../src/live/main";
import { rowOf, rowName } from "../src/live/rows";
import {
  barScale,
  jensenShannon,
  only,
  shuffled,
  total,
  totalVariation,
  uniform,
  withWeight,
} from "../src/live/weights";

describe("weights moved by hand", () => {
  const row = [0.5, 0.3, 0.2];

  it("keep their sum: the others give way in proportion", () => {
    expect(withWeight(row, 0, 0.75, true)).toEqual([
      0.75,
      expect.closeTo(0.15),
      expect.closeTo(0.1),
    ]);
    expect(withWeight(row, 0, 7, true)).toEqual([1, 0, 0]);
    expect(withWeight(row, 0, -1, true)[0]).toBe(0);
    expect(total(withWeight(row, 1, 0, true))).toBeCloseTo(1);
  });

  it("come back equally when the others had none", () => {
    expect(withWeight([1, 0, 0], 0, 0.5, true)).toEqual([0.5, 0.25, 0.25]);
  });

  it("move alone when the sum need not stay", () => {
    expect(withWeight(row, 2, 0.9, false)).toEqual([0.5, 0.3, 0.9]);
  });

  it("become uniform, one word's, or another's", () => {
    expect(uniform(row)).toEqual([1 / 3, 1 / 3, 1 / 3]);
    expect(only(row, 1)).toEqual([0, 1, 0]);
    const turned = shuffled(row, () => 0);
    expect(turned).not.toEqual(row);
    expect([...turned].sort()).toEqual([...row].sort());
  });

  it("went as far as the formulas say", () => {
    expect(totalVariation([1, 0], [0, 1])).toBe(1);
    expect(totalVariation(row, [0.2, 0.3, 0.5])).toBeCloseTo(0.3);
    expect(jensenShannon([1, 0], [0, 1])).toBeCloseTo(Math.log(2));
    expect(jensenShannon(row, row)).toBe(0);
    // scipy.spatial.distance.jensenshannon([.5, .3, .2], [.1, .1, .8]) ** 2
    expect(jensenShannon(row, [0.1, 0.1, 0.8])).toBeCloseTo(0.195_310_577, 8);
    expect(jensenShannon([0, 0], [1, 0])).toBeNaN();
  });

  it("fill bars up to a round number", () => {
    expect(barScale([0.01], [0.02])).toBe(0.05);
    expect(barScale([0.21])).toBe(0.5);
    expect(barScale([1.2])).toBe(2);
    expect(barScale([])).toBe(0.05);
  });
});

const kReply = {
  id: "1",
  inputs: { text: ["not", "<b>good</b>"], target: ["a", "b", "c"] },
  maps: [
    {
      name: "attention",
      axes: ["head", "query", "key"],
      query_input: "target",
      key_input: "text",
      shape: [1, 3, 2],
      data: [0.1, 0.9, 0.2, 0.8, 0.6, 0.4],
    },
  ],
  prediction: { label: "yes", probabilities: [0.25, 0.75] },
};

describe("rows", () => {
  const reply = readReply(kReply);
  it("are found by their place, and their mean without one", () => {
    expect(rowOf(reply.maps[0]!, [0, 2])).toEqual([0.6, 0.4]);
    expect(rowOf(reply.maps[0]!, null)).toEqual([expect.closeTo(0.3), expect.closeTo(0.7)]);
    expect(rowName(reply, reply.maps[0]!, 1, 2)).toBe("3 c");
    expect(rowName(reply, reply.maps[0]!, 0, 0)).toBe("1");
  });
});

describe("the body of a request", () => {
  const question = { run: "r", inputs: new Map([["text", "a b"]]), id: null };
  const none: Edits = { drop: new Map(), mask: new Map(), replace: new Map() };
  it("has no more than was asked", () => {
    expect(requestBody(question, none)).toEqual({ run: "r", inputs: { text: "a b" } });
    expect(requestBody({ ...question, id: "7" }, none)).toEqual({ run: "r", id: "7" });
  });
  it("names rows, or gives one for all", () => {
    const rows = [{ row: [0, 1], weights: [1, 0] }];
    expect(requestBody(question, { ...none, replace: new Map([["m", rows]]) })["replace"]).toEqual({
      m: rows,
    });
    const every = [{ row: null, weights: [1, 0] }];
    expect(requestBody(question, { ...none, replace: new Map([["m", every]]) })["replace"]).toEqual(
      {
        m: [1, 0],
      },
    );
  });
});

describe("the live page", () => {
  let app: HTMLElement;
  let sent: { path: string; body: Record<string, unknown>; headers: Headers }[];
  const kRuns = {
    runs: [
      {
        name: "tiny",
        kind: "classify",
        inputs: ["text"],
        labels: ["no", "yes"],
        mechanism: { id: "singular", title: "Singular" },
        parts: [{ group: "score", id: "dot", title: "Dot", formula: "q \\cdot k" }],
        maps: [],
        editable: true,
        examples: [{ id: "test-1", label: "yes", inputs: { text: "not <b>good</b>" } }],
      },
    ],
  };

  function server(path: RequestInfo | URL, options?: RequestInit): Promise<Response> {
    const body = options?.body ? JSON.parse(String(options.body)) : {};
    sent.push({ path: String(path), body, headers: new Headers(options?.headers) });
    if (path === "/api/runs") return Promise.resolve(Response.json(kRuns));
    if (body.inputs.text === "bad")
      return Promise.resolve(Response.json({ error: "the <i>text</i> is bad" }, { status: 400 }));
    const tokens: string[] = body.inputs.text.split(" ");
    const drop: number[] = body.drop?.text ?? [];
    const left = tokens.filter((_, i) => !drop.includes(i));
    const data = body.replace?.attention ?? left.map(() => 1 / left.length);
    const prediction = {
      label: data[0] > 0.6 ? "no" : "yes",
      probabilities: [data[0], 1 - data[0]],
    };
    return Promise.resolve(
      Response.json({
        id: "1",
        inputs: { text: left },
        maps: [
          {
            name: "attention",
            axes: ["head", "query", "key"],
            query_input: null,
            key_input: "text",
            shape: [1, 1, left.length],
            data,
          },
        ],
        prediction,
        ...(body.replace && { without: { label: "yes", probabilities: [0.5, 0.5] } }),
      }),
    );
  }

  beforeEach(async () => {
    vi.useFakeTimers();
    sent = [];
    document.body.replaceChildren((app = document.createElement("div")));
    await start(app, new Api("s3cret", server));
    await vi.advanceTimersByTimeAsync(300);
  });
  afterEach(() => vi.useRealTimers());

  const cells = (): HTMLElement[] => [...app.querySelectorAll<HTMLElement>(".cell")];
  const press = (element: Element, key: string): boolean =>
    element.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  const click = (name: string): void =>
    [...app.querySelectorAll("button")].find((button) => button.textContent === name)!.click();

  it("asks about the first example, with the token, and shows text as text", () => {
    expect(sent.map(({ path }) => path)).toEqual(["/api/runs", "/api/predict"]);
    expect(sent.every(({ headers }) => headers.get("Authorization") === "Bearer s3cret")).toBe(
      true,
    );
    expect(cells().map((cell) => cell.querySelector(".word")!.textContent)).toEqual([
      "not",
      "<b>good</b>",
    ]);
    expect(app.querySelectorAll("b, i, script")).toHaveLength(0);
    expect(app.querySelector(".answer")!.textContent).toBe("yes");
  });

  it("moves a weight by keys: before → after, and how far", async () => {
    for (let i = 0; i < 3; i += 1) press(cells()[0]!, "PageUp");
    expect(cells()[0]!.getAttribute("aria-valuenow")).toBe("0.8000"); // at once
    await vi.advanceTimersByTimeAsync(100);
    expect(sent.at(-1)!.body["replace"]).toEqual({
      attention: [expect.closeTo(0.8), expect.closeTo(0.2)],
    });
    expect(app.querySelector(".answer")!.textContent).toContain("yes → no");
    expect(app.querySelector(".movement")!.textContent).toContain("30.0");
    click("Reset");
    await vi.advanceTimersByTimeAsync(100);
    expect(app.querySelector(".answer")!.textContent).toBe("yes");
    expect(cells()[0]!.getAttribute("aria-valuenow")).toBe("0.5000");
  });

  it("drops a word and puts it back", async () => {
    click("Drop");
    await vi.advanceTimersByTimeAsync(100);
    expect(sent.some(({ body }) => JSON.stringify(body["drop"]) === '{"text":[0]}')).toBe(true);
    expect(cells()[0]!.classList.contains("dropped")).toBe(true);
    expect(cells()[1]!.getAttribute("aria-valuenow")).toBe("1.0000");
    click("Put back");
    await vi.advanceTimersByTimeAsync(100);
    expect(cells()[0]!.classList.contains("dropped")).toBe(false);
  });

  it("waits until typing pauses, and tells mistakes in words", async () => {
    const area = app.querySelector("textarea")!;
    const before = sent.length;
    for (const text of ["b", "ba", "bad"]) {
      area.value = text;
      area.dispatchEvent(new Event("input"));
    }
    await vi.advanceTimersByTimeAsync(300);
    expect(sent.length).toBe(before + 1);
    expect(app.querySelector("[role=alert]:not([hidden])")!.textContent).toBe(
      "the <i>text</i> is bad (400)",
    );
  });

  it("never lets an older answer overwrite a newer one", async () => {
    const area = app.querySelector("textarea")!;
    const type = (text: string): void => {
      area.value = text;
      area.dispatchEvent(new Event("input"));
    };
    type("slow one here");
    vi.advanceTimersByTime(160); // sent, and not yet answered
    type("new");
    await vi.advanceTimersByTimeAsync(300);
    expect(cells().map((cell) => cell.querySelector(".word")!.textContent)).toEqual(["new"]);
  });
});
