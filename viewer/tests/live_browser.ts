/**
 * `npm run test:live -- ADDRESS…`: opens the pages of running `heed serve` in Chromium and works
 * them as a person would. What must be shown is asked of the server's API, with no code of the page.
 */
import { readFileSync } from "node:fs";
import { chromium, type Browser, type Locator, type Page } from "playwright-core";
import { kArguments, kLooks, type Look } from "./browser";
import { axeProblems } from "./browser_checks";
import type { Json } from "./fixture";

const kHostile = `<script>window.hacked=1</script> "quoted' שלום 😀 </div><img src=x onerror=alert(2)> good`;
const kWait = 15_000;

type Check = (holds: boolean, problem: string) => void;

/** One visit: what the server says and what the page shows. */
class Visit {
  constructor(
    readonly page: Page,
    readonly address: string,
    readonly run: Json,
    readonly check: Check,
  ) {}

  async predict(body: Json): Promise<Json> {
    const response = await fetch(new URL("/api/predict", this.address), {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ run: this.run["name"], ...body }),
    });
    return (await response.json()) as Json;
  }

  words(): Locator {
    return this.page.locator(".cell .word");
  }

  cell(i: number): Locator {
    return this.page.locator(".cell").nth(i);
  }

  button(name: string): Locator {
    return this.page.locator(".tools button", { hasText: new RegExp(`^${name}$`) });
  }

  /** Waits until the page shows this answer: its label, and every probability. */
  async shows(what: string, prediction: Json): Promise<void> {
    const wanted = (prediction["probabilities"] as number[] | undefined)?.map(
      (p) => `${(100 * p).toFixed(1)}\u202f%`,
    );
    const holds = await this.page
      .waitForFunction(
        ([label, shares]) => {
          const answer = document.querySelector(".answer strong")?.textContent;
          const shown = [...document.querySelectorAll(".class .share")].map(
            (share) => share.lastChild!.textContent,
          );
          return answer === label && (!shares || JSON.stringify(shown) === JSON.stringify(shares));
        },
        [prediction["label"] as string, wanted] as const,
        { timeout: kWait },
      )
      .catch(() => null);
    const found = await this.page.locator(".prediction").innerText();
    this.check(holds !== null, `${what}: ${JSON.stringify(prediction)} expected, shown ${found}`);
  }

  /** Waits until these words are under the bars; the answers to two texts may look the same. */
  async reads(words: string[]): Promise<void> {
    const wanted = JSON.stringify(words);
    await this.page
      .waitForFunction(
        (text) =>
          JSON.stringify(
            [...document.querySelectorAll(".cell .word")].map((word) => word.textContent),
          ) === text,
        wanted,
        { timeout: kWait },
      )
      .catch(async () => {
        const shown = await this.words().allTextContents();
        this.check(false, `words ${wanted} shown as ${shown.join(" ")}`);
      });
  }

  /** Types into the fields and waits for the words to be there. */
  async ask(inputs: Record<string, string>): Promise<void> {
    for (const [name, text] of Object.entries(inputs)) {
      const label = name.charAt(0).toUpperCase() + name.slice(1);
      await this.page.getByLabel(label, { exact: true }).fill(text);
    }
    const reply = await this.predict({ inputs });
    await this.reads(reply["inputs"]["text"] as string[]);
    await this.shows(`typed “${Object.values(inputs).join(" · ")}”`, reply["prediction"]);
  }

  async said(body: Json): Promise<Json> {
    return (await this.predict(body))["prediction"] as Json;
  }
}

/** The words as they are, whatever they are. */
async function checkText(visit: Visit): Promise<void> {
  await visit.ask({ text: kHostile });
  const hacked = await visit.page.evaluate(() => "hacked" in window);
  visit.check(!hacked, "text was run as script");
}

/** Every way to move weights, against what the API says of the same weights. */
async function checkWeights(visit: Visit): Promise<void> {
  const { page, check } = visit;
  const inputs = { text: "the food was not good , but the staff was lovely" };
  await visit.ask(inputs);
  const plain = await visit.predict({ inputs });
  const count = plain["inputs"]["text"].length as number;
  const map = plain["maps"][0].name as string;
  const weightOf = async (i: number): Promise<number> =>
    Number(await visit.cell(i).getAttribute("aria-valuenow"));

  await visit.cell(3).locator(".word").click();
  await visit.button("Only this word").click();
  const one = Array.from({ length: count }, (_, i) => (i === 3 ? 1 : 0));
  await visit.shows("only this word", await visit.said({ inputs, replace: { [map]: one } }));
  check((await weightOf(3)) > 0.999, "all weight is not on the word");
  check(/Weights moved/.test(await page.locator(".movement").innerText()), "no distance is told");

  await visit.button("Uniform").click();
  const even = Array.from({ length: count }, () => 1 / count);
  await visit.shows("uniform", await visit.said({ inputs, replace: { [map]: even } }));

  await visit.button("Reset").click();
  await visit.shows("reset", plain["prediction"]);
  check((await page.locator(".moved").count()) === 0, "bars are marked as moved after a reset");

  const before = await weightOf(4);
  await visit.cell(4).focus();
  await page.keyboard.press("PageUp");
  check(Math.abs((await weightOf(4)) - before - 0.1) < 1e-3, "PageUp does not add 0.1");
  await page.keyboard.press("ArrowDown");
  check(Math.abs((await weightOf(4)) - before - 0.09) < 1e-3, "ArrowDown does not take 0.01");
  await page.keyboard.press("ArrowRight");
  const focused = await visit.cell(5).evaluate((cell) => cell === document.activeElement);
  check(focused, "ArrowRight does not go to the next word");

  const well = (await visit.cell(0).locator(".well").boundingBox())!;
  await page.mouse.move(well.x + well.width / 2, well.y + well.height - 4);
  await page.mouse.down();
  await page.mouse.move(well.x + well.width / 2, well.y + 2, { steps: 4 });
  const dragged = await weightOf(0);
  await page.mouse.up();
  check(dragged > 0.09, `dragged to the top, and its weight is ${dragged}`);

  await page.getByLabel("weight", { exact: true }).fill("1");
  const first = Array.from({ length: count }, (_, i) => (i === 0 ? 1 : 0));
  await visit.shows("typed weight", await visit.said({ inputs, replace: { [map]: first } }));
  await page.keyboard.press("Enter");
  await visit.button("Reset").click();
  await visit.shows("reset again", plain["prediction"]);
}

async function checkWords(visit: Visit): Promise<void> {
  const inputs = { text: "the food was not good , but the staff was lovely" };
  const plain = await visit.said({ inputs });
  await visit.cell(3).locator(".word").click();
  await visit.button("Mask").click();
  await visit.shows("masked", await visit.said({ inputs, mask: { text: [3] } }));
  await visit.button("Unmask").click();
  await visit.shows("unmasked", plain);
  await visit.button("Drop").click();
  const shorter = { text: "the food was good , but the staff was lovely" };
  await visit.shows("dropped", await visit.said({ inputs: shorter }));
  await visit.page.locator(".cell.dropped").waitFor({ timeout: kWait });
  await visit.button("Put back").click();
  await visit.shows("put back", plain);
}

async function checkMistakes(visit: Visit): Promise<void> {
  const alert = visit.page.locator("[role=alert]:visible");
  await visit.page.getByLabel("Text", { exact: true }).fill("  ");
  await alert.waitFor({ timeout: kWait });
  visit.check(/the text is empty/.test(await alert.innerText()), "an empty text is not told of");
  await visit.ask({ text: "good" });
  visit.check((await alert.count()) === 0, "the message stays");
}

async function checkFiles(visit: Visit): Promise<void> {
  for (const [place, kind, pattern] of [
    [".tools", "CSV", /^\ufeffmodule,row,position,word,own weight,weight\r\n/],
    [".tools", "SVG", /^<\?xml[^]*fill-opacity[^]*<\/svg>\n$/],
    [".prediction", "CSV", /^\ufeffclass,probability,/],
  ] as const) {
    const started = visit.page.waitForEvent("download", { timeout: kWait });
    await visit.page.locator(`${place} .exports button`, { hasText: kind }).click();
    const text = readFileSync(await (await started).path(), "utf8");
    visit.check(pattern.test(text), `${kind} of ${place} is not right`);
  }
}

/** Of kinds that read other inputs, or choose: the examples, every module, every row. */
async function checkExamples(visit: Visit): Promise<void> {
  const { page, run } = visit;
  const examples = run["examples"] as Json[];
  const picked = examples[examples.length - 1]!;
  await page.getByLabel("Start from an example").selectOption(picked["id"] as string);
  const body = run["inputs"].length > 0 ? { inputs: picked["inputs"] } : { id: picked["id"] };
  await visit.shows(`example ${picked["id"]}`, await visit.said(body));
  const modules = page.getByLabel("Attention module");
  if ((await modules.count()) > 0) {
    for (const name of await modules
      .locator("option")
      .evaluateAll((all) => all.map((o) => (o as HTMLOptionElement).value))) {
      await modules.selectOption(name);
      visit.check((await visit.words().count()) > 0, `no words under module ${name}`);
    }
  }
  for (const rows of await page.getByLabel(/^Which /).all()) {
    await rows.selectOption({ index: 1 });
    visit.check((await visit.words().count()) > 0, "no words under a row");
  }
}

async function checkPage(visit: Visit): Promise<void> {
  const { page, check, run } = visit;
  await page.locator(".answer").waitFor({ timeout: kWait });
  if (run["kind"] === "classify" && run["maps"].length > 0) {
    await checkText(visit);
    await checkWeights(visit);
    await checkWords(visit);
    await checkMistakes(visit);
    await checkFiles(visit);
  }
  if (run["examples"].length > 0) await checkExamples(visit);
  await page.locator("details summary").first().click();
  check((await page.locator("details math").count()) > 0, "no formula");
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  check(wide <= 0, `the page scrolls sideways by ${wide} px`);
  for (const problem of await axeProblems(page)) check(false, problem);
}

async function visitPage(browser: Browser, address: string, look: Look): Promise<string[]> {
  const problems: string[] = [];
  const check: Check = (holds, problem) => {
    if (!holds) problems.push(problem);
  };
  const context = await browser.newContext({
    viewport: { width: look.width, height: 900 },
    colorScheme: look.colorScheme,
    acceptDownloads: true,
  });
  const page = await context.newPage();
  page.on("console", (message) => {
    // The browser itself reports the status of an answer that tells of a mistake.
    const told = /status of 400/.test(message.text());
    if (["error", "warning"].includes(message.type()) && !told)
      problems.push(`console ${message.type()}: ${message.text()}`);
  });
  page.on("pageerror", (error) => problems.push(`page error: ${error.message}`));
  page.on("request", (request) => {
    const url = request.url();
    check(/^(blob|data):/.test(url) || url.startsWith(address), `request to ${url}`);
  });
  try {
    const runs = (await (await fetch(new URL("/api/runs", address))).json()) as Json;
    await page.goto(address);
    for (const run of runs["runs"] as Json[]) {
      const picker = page.getByLabel("Run", { exact: true });
      if ((await picker.count()) > 0) await picker.selectOption(run["name"] as string);
      const told: Check = (holds, problem) => check(holds, `${run["name"]}: ${problem}`);
      await checkPage(new Visit(page, address, run, told));
    }
  } catch (error) {
    problems.push(`stopped: ${error instanceof Error ? error.message : String(error)}`);
  }
  await context.close();
  return problems;
}

export async function main(addresses: string[]): Promise<number> {
  if (addresses.length === 0) {
    console.error("test:live: give the address of a running “heed serve”");
    return 2;
  }
  const executablePath = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
  const browser = await chromium.launch({ executablePath, args: kArguments });
  let failed = 0;
  try {
    for (const address of addresses) {
      for (const look of [kLooks[0]!, kLooks[3]!]) {
        const problems = await visitPage(browser, address, look);
        console.log(
          `${problems.length === 0 ? "ok  " : "FAIL"} ${address}, ${look.width} px, ${look.colorScheme}`,
        );
        for (const problem of new Set(problems)) console.log(`     ${problem}`);
        if (problems.length > 0) failed += 1;
      }
    }
  } finally {
    await browser.close();
  }
  return failed === 0 ? 0 : 1;
}
