/**
 * `npm run test:browser [-- [--pictures] REPORT.html …]`: opens reports in Chromium with the network denied.
 * With --pictures it looks only at the pictures of the examples, every one that fits.
 * Without a path it makes its own from the fixture and the built bundle, and first proves, on a
 * page that is wrong in every way, that the checks can fail.
 */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium, type Browser, type Page } from "playwright-core";
import { axeProblems, checkReport } from "./browser_checks";
import { ablationReport } from "./ablation_fixture";
import { fixture, singleRun } from "./fixture";
import { largeModel, longDocument } from "./large_fixture";
import { dataScript, reportPage, type PageData } from "./page";
import { checkLargeModel, checkLongDocument, checkPictures } from "./picture_checks";

export const kArguments = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

type Visit = (page: Page) => Promise<string[]>;
export type Look = { width: number; colorScheme: "light" | "dark" };

export const kLooks: Look[] = [
  { width: 1280, colorScheme: "light" },
  { width: 1280, colorScheme: "dark" },
  { width: 380, colorScheme: "light" },
  { width: 380, colorScheme: "dark" },
];

/** Opens the file and returns everything that is wrong with it. */
async function visit(browser: Browser, file: string, look: Look, checks: Visit): Promise<string[]> {
  const context = await browser.newContext({
    viewport: { width: look.width, height: 900 },
    colorScheme: look.colorScheme,
    offline: true,
    acceptDownloads: true,
  });
  const url = pathToFileURL(file).href;
  const problems: string[] = [];
  await context.route("**", (route) =>
    route.request().url() === url ? route.continue() : route.abort(),
  );
  const page = await context.newPage();
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") {
      problems.push(`console ${message.type()}: ${message.text()}`);
    }
  });
  page.on("pageerror", (error) => problems.push(`page error: ${error.message}`));
  page.on("request", (request) => {
    if (request.url() !== url && !request.url().startsWith("blob:")) {
      problems.push(`request to ${request.url()}`);
    }
  });
  page.on("dialog", (dialog) => {
    problems.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  try {
    await page.goto(url);
    problems.push(...(await checks(page)));
  } catch (error) {
    problems.push(`stopped: ${error instanceof Error ? error.message : String(error)}`);
  }
  await context.close();
  return problems;
}

/** A page that breaks every rule must be told on for each of them. */
async function checksCanFail(browser: Browser, folder: string): Promise<string[]> {
  const file = join(folder, "control.html");
  writeFileSync(
    file,
    `<!doctype html><html><body><button></button><img src="http://heed.invalid/x.png">
     <script>console.error("on purpose"); throw new Error("on purpose");</script></body></html>`,
  );
  const found = await visit(browser, file, kLooks[0]!, axeProblems);
  return [
    "console error: on purpose",
    "page error: on purpose",
    "request to http://heed.invalid",
    "axe: button-name",
  ]
    .filter((expected) => !found.some((problem) => problem.startsWith(expected)))
    .map((expected) => `the control page was not caught: ${expected}`);
}

async function brokenPage(page: Page): Promise<string[]> {
  const heading = await page.locator("[role=alert] h1").textContent();
  const problems = await axeProblems(page);
  if (heading !== "This report cannot be shown") problems.push(`no message: ${heading}`);
  return problems;
}

/** What needs no other width and no other colours. */
const kOnce = new Set([brokenPage, checkLongDocument, checkLargeModel]);

function looksFor(checks: Visit): Look[] {
  if (kOnce.has(checks)) return kLooks.slice(0, 1);
  return checks === checkPictures ? [kLooks[0]!, kLooks[3]!] : kLooks;
}

export async function main(given: string[]): Promise<number> {
  const onlyPictures = given[0] === "--pictures";
  const paths = onlyPictures ? given.slice(1) : given;
  const executablePath = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
  for (const needed of [executablePath, ...paths]) {
    if (!existsSync(needed)) {
      console.error(`test:browser: ${needed} does not exist`);
      return 2;
    }
  }
  const folder = mkdtempSync(join(tmpdir(), "heed-viewer-"));
  const browser = await chromium.launch({ executablePath, args: kArguments });
  let failed = 0;
  const tell = (name: string, problems: string[]): void => {
    console.log(`${problems.length === 0 ? "ok  " : "FAIL"} ${name}`);
    for (const problem of new Set(problems)) console.log(`     ${problem}`);
    if (problems.length > 0) failed += 1;
  };
  try {
    const checks: Visit = onlyPictures ? checkPictures : checkReport;
    const reports = paths.map((path) => ({ name: path, file: resolve(path), checks }));
    if (paths.length === 0) {
      tell("the checks can fail", await checksCanFail(browser, folder));
      const add = (name: string, data: PageData, checks: Visit): void => {
        const file = join(folder, `${name}.html`);
        writeFileSync(file, reportPage(`heed: ${name} </title><script>`, data));
        reports.push({ name, file, checks });
      };
      add("fixture", dataScript(JSON.stringify(fixture())), checkReport);
      add("single", dataScript(JSON.stringify(singleRun())), checkReport);
      add("ablation", dataScript(JSON.stringify(ablationReport())), checkReport);
      add("long document", dataScript(JSON.stringify(longDocument())), checkLongDocument);
      add("large model", dataScript(JSON.stringify(largeModel())), checkLargeModel);
      add("broken", dataScript(JSON.stringify(fixture()).slice(0, 5000)), brokenPage);
      add("without data", { json: "", packed: "" }, brokenPage);
    }
    for (const { name, file, checks } of reports) {
      for (const look of looksFor(checks)) {
        tell(
          `${name}, ${look.width} px, ${look.colorScheme}`,
          await visit(browser, file, look, checks),
        );
      }
    }
  } finally {
    await browser.close();
    rmSync(folder, { recursive: true, force: true });
  }
  console.log(failed === 0 ? "browser: all passed" : `browser: ${failed} failed`);
  return failed === 0 ? 0 : 1;
}
