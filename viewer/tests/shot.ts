/** `npm run shot -- REPORT.html OUT.png SELECTOR [PICTURE]`: a part of a report as a picture, for docs/. */
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import { kArguments } from "./browser";

export async function main([report, out, selector, picture]: string[]): Promise<number> {
  if (!report || !out || !selector) {
    console.error("usage: npm run shot -- REPORT.html OUT.png SELECTOR [PICTURE]");
    return 2;
  }
  const executablePath = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
  const browser = await chromium.launch({ executablePath, args: kArguments });
  const page = await browser.newPage({
    viewport: { width: 1120, height: 1400 },
    deviceScaleFactor: 1.5,
  });
  await page.goto(pathToFileURL(resolve(report)).href);
  // What stays in place while the page scrolls would lie across a tall picture.
  await page.addStyleTag({ content: ".bar { position: static } .example { border: 0 }" });
  if (picture) await page.getByLabel("Picture", { exact: true }).selectOption(picture);
  const part = page.locator(selector).first();
  await part.scrollIntoViewIfNeeded();
  await page.waitForTimeout(400); // charts are drawn once they know their width
  await part.screenshot({ path: out });
  await browser.close();
  return 0;
}
