// @vitest-environment jsdom
import { beforeEach, describe, expect, it } from "vitest";
import { standaloneSvg } from "../src/download";
import { render } from "../src/main";
import { formula } from "../src/math";
import { ablationReport } from "./ablation_fixture";
import { fixture, kHostile, singleRun, type Json } from "./fixture";

let app: HTMLElement;
beforeEach(() => {
  document.body.replaceChildren((app = document.createElement("div")));
});
const show = (report: Json): void => render(app, JSON.stringify(report));

describe("the page", () => {
  it("has a heading and every section", () => {
    show(fixture());
    expect(app.querySelector("h1")!.textContent).toBe("heed demo");
    expect([...app.querySelectorAll("section")].map((section) => section.id)).toEqual([
      "comparison",
      "curves",
      "sentences",
      "mechanisms",
    ]);
    expect(app.querySelectorAll(".notice")).toHaveLength(0);
    expect(app.querySelectorAll(".example")).toHaveLength(10);
    expect(app.querySelectorAll("math").length).toBeGreaterThan(0);
  });

  it("shows hostile text as text", () => {
    const report = fixture();
    report.title = "<img src=x onerror=alert(1)>";
    report.variants[1].parts[0].advice = "<b>bold</b>";
    report.runs[0].config = "</pre><script>alert(1)</script>";
    show(report);
    expect(app.querySelectorAll("script, img, iframe, b")).toHaveLength(0);
    expect(app.querySelector("h1")!.textContent).toBe(report.title);
    const words = [...app.querySelectorAll(".example[data-id=test-4] .word")].map(
      (word) => word.textContent,
    );
    for (const token of kHostile) expect(words).toContain(token);
    expect(app.querySelector("#mechanisms")!.textContent).toContain("</pre><script>");
  });

  it("fits a single run: nothing to compare, nothing marked best", () => {
    show(singleRun());
    expect(app.querySelector("#comparison h2")!.textContent).toBe("Results");
    expect(app.textContent).not.toContain("★");
    expect(app.textContent).not.toContain("Judged by");
  });

  it("says what is missing instead of failing", () => {
    show({ version: 1, variants: [{ name: "a" }], runs: [{ name: "a-1", variant: "a" }] });
    expect(app.textContent).toContain("These runs have no metrics yet.");
    expect(app.textContent).toContain("No training curve was recorded.");
    expect(app.textContent).toContain("No examples were recorded");
  });

  it("answers broken or absent data with a message", () => {
    for (const text of [null, "", "{", "[]", '{"version":9}']) {
      render(app, text);
      expect(app.querySelector("[role=alert] h1")!.textContent).toBe("This report cannot be shown");
    }
  });

  it("lists what it had to leave out", () => {
    const report = fixture();
    report.runs[3].variant = "<i>who</i>";
    show(report);
    expect(app.querySelector(".notice")!.textContent).toContain(
      'runs[3].variant: no variant is named "<i>who</i>"',
    );
  });
});

describe("an ablation", () => {
  const texts = (selector: string): string[] =>
    [...app.querySelectorAll(selector)].map((element) => element.textContent ?? "");

  it("takes the place of the comparison, in the order of the data", () => {
    show(ablationReport());
    expect([...app.querySelectorAll("section")].map((section) => section.id)).toEqual([
      "ablation",
      "curves",
      "sentences",
      "mechanisms",
    ]);
    expect(app.querySelector(".skip")!.getAttribute("href")).toBe("#ablation");
    expect(texts("#ablation tbody .who")).toEqual([
      "additive",
      "general",
      "scaled-dot",
      "mean-pool",
    ]);
    expect(app.textContent).not.toContain("★");
    expect(app.querySelectorAll(".notice")).toHaveLength(0);
  });

  it("fills the marks of what is significant, and only those", () => {
    show(ablationReport());
    const rows = [...app.querySelectorAll("#ablation svg.chart .row")];
    expect(rows.map((row) => row.querySelector("path.mean") !== null)).toEqual([
      true,
      false,
      false,
      true,
    ]);
    expect(rows[0]!.querySelector(".number")!.textContent).toBe("+2.1 [+0.9, +3.3]\u202f% *");
    expect(rows[2]!.querySelector(".number")!.textContent).toBe("baseline");
    const cells = [...app.querySelectorAll("#ablation tbody tr")].map((row) =>
      [...row.querySelectorAll("td")].map((cell) => cell.textContent),
    );
    expect(cells[1]![3]).toBe("0.710");
    expect(cells[3]![3]).toBe("< 0.001 (significant)");
    expect(cells[0]![0]).toBe("97.5 [95.5, 99.5]\u202f%");
  });

  it("shows a metric instead of the difference when asked", () => {
    show(ablationReport());
    const choice = app.querySelector<HTMLInputElement>('#ablation input[value="val"]')!;
    choice.checked = true;
    choice.dispatchEvent(new Event("change"));
    expect(app.querySelector("#ablation svg.chart")!.getAttribute("aria-label")).toContain(
      "validation accuracy",
    );
    expect(app.querySelectorAll("#ablation svg.chart .seed")).toHaveLength(11);
    expect(app.querySelector("#ablation svg.chart .rule")).not.toBeNull();
  });

  it("reports what failed and what does not fit, as text", () => {
    show(ablationReport());
    expect(texts("details.failed li")).toEqual(["general, seed 3: ended by signal 9 (Killed)"]);
    expect(texts("details.refused li")).toEqual([
      "dimensionality 'multi' goes with <b>additive</b> (dot, multi; <i>general</i>, multi)",
    ]);
    expect(app.querySelectorAll("#ablation b, #ablation i")).toHaveLength(0);
  });

  it("without a finished cell says so", () => {
    const report = ablationReport();
    report.ablation.rows = report.ablation.rows.slice(4);
    report.ablation.pending = 3;
    show(report);
    expect(app.querySelector("#ablation")!.textContent).toContain("No cell has finished.");
    expect(app.querySelector("#ablation")!.textContent).toContain("3 cells have not run yet.");
  });
});

describe("formulas", () => {
  it("become MathML, and text when they cannot be read", () => {
    expect(formula(String.raw`\frac{q \cdot k}{\sqrt{d_k}}`).querySelector("mfrac")).not.toBeNull();
    expect(formula(String.raw`\nonsense{`).querySelector("code")!.textContent).toBe(
      String.raw`\nonsense{`,
    );
    expect(formula(String.raw`\href{javascript:alert(1)}{x}`).querySelector("a")).toBeNull();
  });
});

describe("a saved picture", () => {
  it("is XML on its own, also with characters XML forbids", () => {
    show(fixture());
    const svg = app.querySelector<SVGSVGElement>("#comparison svg.chart")!;
    svg.append(document.createTextNode("<b>\u0001\ud800"));
    const text = standaloneSvg(svg);
    const parsed = new DOMParser().parseFromString(text, "image/svg+xml");
    expect(parsed.querySelector("parsererror")).toBeNull();
    expect(text).not.toContain("class=");
    expect(text).toContain("&lt;b&gt;\ufffd\ufffd");
  });
});
