// Looks at pages of the site in a browser: axe, console errors, outside requests, the width of a phone, search and map.
// Usage: node browser.mjs SITE PAGE…   Prints a JSON list of what is wrong.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(new URL("../../viewer/package.json", import.meta.url));
const { chromium } = require("playwright-core");
const axe = require("axe-core");
const [site, ...names] = process.argv.slice(2);
const url = (name) => pathToFileURL(`${site}/${name}`).href;
const wrong = [];

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
const context = await browser.newContext({ colorScheme: "light", viewport: { width: 390, height: 844 } });
const page = await context.newPage();
page.on("console", (message) => message.type() === "error" && wrong.push(`console: ${message.text()}`));
page.on("pageerror", (error) => wrong.push(`error: ${error}`));
page.on(
  "request",
  (request) => /^(file|data):/.test(request.url()) || wrong.push(`request: ${request.url()}`),
);

for (const [index, name] of names.entries()) {
  for (const theme of index < 3 ? ["light", "dark"] : ["light"]) {
    await page.emulateMedia({ colorScheme: theme });
    await page.goto(url(name));
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    if (width > 390) wrong.push(`${name}: ${width} px wide on a phone`);
    await page.evaluate(axe.source);
    const { violations } = await page.evaluate(() =>
      window.axe.run(document, { resultTypes: ["violations"], preload: false }),
    );
    for (const { id, impact, nodes } of violations) {
      if (impact === "serious" || impact === "critical")
        wrong.push(`${name}, ${theme}: ${id}: ${nodes[0].html}`);
    }
  }
}

// The search opens a page by the keyboard alone.
await page.setViewportSize({ width: 1280, height: 900 });
await page.goto(url("index.html"));
await page.keyboard.press("/");
await page.keyboard.type("sparsemax");
await page.waitForSelector("#hits [data-link]");
await page.keyboard.press("Enter");
await page
  .waitForURL(/align-sparsemax/, { timeout: 5000 })
  .catch(() => wrong.push("the search does not open sparsemax"));

// A need on the map leaves what suits it, and a chip of a page leads there.
await page.click("a.need");
await page
  .waitForURL(/map\.html#need=sparse/, { timeout: 5000 })
  .catch(() => wrong.push("a need does not lead to the map"));
const left = await page.locator(".box:not(.away)").count();
const all = await page.locator(".box").count();
if (!(left > 1 && left < all)) wrong.push(`the need 'sparse' leaves ${left} of ${all} boxes`);

// The theme is kept from page to page.
await page.click(".theme");
const chosen = await page.evaluate(() => document.documentElement.dataset.theme);
await page.goto(url("map.html"));
if ((await page.evaluate(() => document.documentElement.dataset.theme)) !== chosen)
  wrong.push("the theme is forgotten");

await browser.close();
console.log(JSON.stringify(wrong));
