/**
 * What must hold of any report in a browser. Expected numbers are worked out from the JSON in the
 * page, with no code of the viewer.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Locator, Page } from "playwright-core";
import type { Json } from "./fixture";

const kAxe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export async function axeProblems(page: Page): Promise<string[]> {
  await page.evaluate(kAxe);
  return page.evaluate(async () => {
    const { axe } = window as unknown as { axe: { run: () => Promise<Json> } };
    const { violations } = await axe.run();
    return violations
      .filter(({ impact }: Json) => impact === "serious" || impact === "critical")
      .map(({ id, help, nodes }: Json) => `axe: ${id}: ${help}: ${nodes[0].html.slice(0, 160)}`);
  });
}

export async function checkReport(page: Page): Promise<string[]> {
  const problems: string[] = [];
  const check = (holds: boolean, problem: string): void => {
    if (!holds) problems.push(problem);
  };
  const data: Json = JSON.parse((await page.locator("#heed-data").textContent())!);

  check(
    (await page.locator("h1").textContent()) === data["title"],
    "the title is not the first heading",
  );
  const results = resultsOf(data);
  for (const id of [results, "curves", "sentences", "mechanisms"]) {
    check(await page.locator(`section#${id} > h2`).isVisible(), `section ${id} is missing`);
  }
  check((await page.locator(".notice").count()) === 0, "the page complains of its data");
  check((await page.locator(`#${results} svg.chart`).count()) > 0, "no plot of a metric");
  check((await page.locator("#curves svg.chart path.line").count()) > 0, "no training curve");
  for (const figure of await page.locator("figure").all()) {
    check(
      (await figure.locator(".exports button").count()) === 3,
      "a figure without CSV, SVG, PNG",
    );
    check((await figure.locator(".axis .label").count()) > 0, "a figure without axis labels");
  }
  const width = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  check(width <= 0, `the page scrolls sideways by ${width} px`);

  const pictures = page.getByLabel("Picture", { exact: true });
  if ((await pictures.count()) > 0) await pictures.selectOption("shaded");
  problems.push(...(await checkSentences(page, data)));
  problems.push(...(await checkKeyboard(page, results)));
  problems.push(...(await checkDownloads(page, results)));
  problems.push(...(await checkTheme(page)));
  problems.push(...(await axeProblems(page)));
  const hacked = await page.evaluate(() => "hacked" in window);
  check(!hacked, "text of the data was run as script");
  return problems;
}

/** The section that holds the results. */
function resultsOf(data: Json): string {
  return data["ablation"] ? "ablation" : "comparison";
}

/** The list against the JSON: filter, search, hostile text. */
async function checkSentences(page: Page, data: Json): Promise<string[]> {
  const problems: string[] = [];
  const seed = data["runs"][0].seed;
  const judgeList = page.getByLabel("Judged by");
  const judge =
    (await judgeList.count()) > 0 ? await judgeList.inputValue() : data["variants"][0].name;
  const run = data["runs"].find((each: Json) => each["variant"] === judge && each["seed"] === seed);
  const examples: Json[] = run.examples;
  const expect = async (what: string, wanted: number): Promise<void> => {
    const status = (await page.locator("#sentences .status").textContent())!;
    const found = Number(/of (\d+) /.exec(status)?.[1] ?? 0);
    if (found !== wanted) problems.push(`${what}: ${wanted} sentences expected, found “${status}”`);
  };
  const count = (keep: (example: Json) => boolean): number => examples.filter(keep).length;
  const judged = (example: Json): boolean => example["gold"]?.label !== undefined;
  const right = (example: Json): boolean =>
    judged(example) && example["prediction"].label === example["gold"].label;

  await expect("all", examples.length);
  const show = page.getByLabel("Show", { exact: true });
  await show.selectOption("Wrong");
  await expect(
    "wrong",
    count((example) => judged(example) && !right(example)),
  );
  await show.selectOption("Right");
  await expect("right", count(right));
  await show.selectOption("All");

  const search = page.getByLabel("Search the text");
  const inText = (words: string) => (example: Json) =>
    Object.values(example["inputs"] as Record<string, string[]>).some((tokens) =>
      tokens.join(" ").toLowerCase().includes(words),
    );
  const [word] = Object.values(examples[0]!["inputs"] as Record<string, string[]>)[0]!;
  await search.fill(word!);
  await expect(`search for “${word}”`, count(inText(word!.toLowerCase())));
  await search.fill("zzz no such words zzz");
  await expect("search in vain", 0);

  const hostile = examples.find(inText("<script>"));
  if (hostile) {
    await search.fill("<script>");
    const article = page.locator(`.example[data-id="${hostile["id"]}"]`);
    const texts = await article.locator(".reading").first().locator(".word").allTextContents();
    const wanted = Object.values(hostile["inputs"] as Record<string, string[]>).flat();
    if (JSON.stringify(texts) !== JSON.stringify(wanted))
      problems.push("tokens are not shown as they are");
  }
  await search.fill("");
  return problems;
}

async function isShown(locator: Locator): Promise<boolean> {
  return (await locator.count()) > 0 && (await locator.isVisible());
}

async function checkKeyboard(page: Page, results: string): Promise<string[]> {
  const problems: string[] = [];
  const tooltip = page.locator(".tooltip");
  const tokens = page.locator(".example .tokens").first().locator(".token");
  await tokens.first().focus();
  if (!/weight/.test((await tooltip.textContent()) ?? "")) problems.push("no weight on focus");
  await page.keyboard.press("ArrowRight");
  const moved = await tokens.nth(1).evaluate((token) => token === document.activeElement);
  if (!moved) problems.push("the arrow key does not move between tokens");
  await page.keyboard.press("Escape");
  if (await isShown(tooltip)) problems.push("Escape leaves the box open");

  await page.locator(`#${results} .row`).first().focus();
  if (!(await isShown(tooltip))) problems.push("no numbers on focus of a plot");
  await page.locator("#curves [role=slider]").focus();
  await page.keyboard.press("ArrowRight");
  if (!/Epoch 2/.test((await tooltip.textContent()) ?? ""))
    problems.push("no numbers on the curves");
  await page.keyboard.press("Escape");
  return problems;
}

async function checkDownloads(page: Page, results: string): Promise<string[]> {
  const problems: string[] = [];
  for (const [place, kind, pattern] of [
    [`#${results} figure`, "CSV", /^\ufeff(variant,metric|row,changes),/],
    [`#${results} figure`, "SVG", /^<\?xml[^]*<svg[^]*<\/svg>\n$/],
    ["#curves figure", "CSV", /^\ufeffrun,variant,seed,epoch,/],
    [".example", "SVG", /^<\?xml[^]*fill-opacity[^]*<\/svg>\n$/],
    [".example", "CSV", /^\ufeffexample,run,/],
    ["#curves figure", "PNG", /^\ufffdPNG/],
  ] as const) {
    const started = page.waitForEvent("download", { timeout: 5000 });
    await page.locator(place).first().locator(".exports button", { hasText: kind }).click();
    const path = await (await started).path();
    if (!pattern.test(readFileSync(path, "utf8")))
      problems.push(`${kind} of ${place} is not right`);
  }
  return problems;
}

async function checkTheme(page: Page): Promise<string[]> {
  const problems: string[] = [];
  const theme = (): Promise<string | undefined> =>
    page.evaluate(() => document.documentElement.dataset["theme"]);
  const system = await page.evaluate(() => matchMedia("(prefers-color-scheme: dark)").matches);
  if ((await theme()) !== (system ? "dark" : "light"))
    problems.push("the system's colours are ignored");
  const button = page.getByRole("button", { name: /^Colours/ });
  const seen = [];
  for (let i = 0; i < 3; i += 1) {
    await button.click();
    seen.push(await theme());
  }
  if (seen[0] !== "light" || seen[1] !== "dark")
    problems.push(`the toggle gives ${seen.join(", ")}`);
  await page.emulateMedia({ media: "print" });
  if (await page.locator(".bar").isVisible()) problems.push("controls are printed");
  await page.emulateMedia({ media: "screen" });
  return problems;
}
