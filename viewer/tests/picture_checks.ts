/** What must hold of the pictures of a report in a browser, and how quick large ones are. */
import type { Page } from "playwright-core";
import { axeProblems } from "./browser_checks";

/** Chooses every picture that the report offers, and looks whether something is drawn and can be used. */
export async function checkPictures(page: Page): Promise<string[]> {
  const problems: string[] = [];
  if ((await page.locator(".notice").count()) > 0) problems.push("the page complains of its data");
  const list = page.getByLabel("Picture", { exact: true });
  if ((await list.count()) === 0) return [...problems, ...(await axeProblems(page))];
  const roomy = page.viewportSize()!.width > 1000;
  const names = (await list.locator("option").allTextContents()).slice(1);
  for (const name of names) {
    await list.selectOption(name);
    const picture = page.locator(".example .picture").first();
    await picture.scrollIntoViewIfNeeded();
    const drawn = picture.locator("canvas, svg, .token").first();
    await drawn.waitFor({ state: "attached", timeout: 5000 }).catch(() => undefined);
    if ((await drawn.count()) === 0) problems.push(`${name}: nothing is drawn`);
    if ((await picture.locator(".notice").count()) > 0) problems.push(`${name}: it failed`);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (wide > 0) problems.push(`${name}: the page scrolls sideways by ${wide} px`);
    if (roomy || name === names.at(-1)) {
      problems.push(...(await axeProblems(page)).map((problem) => `${name}: ${problem}`));
    }
    problems.push(...(await checkMatrix(page, name)));
  }
  await list.selectOption({ index: 0 });
  return problems;
}

/** Every heat map reads its weights to the keyboard. */
async function checkMatrix(page: Page, name: string): Promise<string[]> {
  const matrix = page.locator(".example .matrix").first();
  if ((await matrix.count()) === 0) return [];
  await matrix.focus();
  await page.keyboard.press("ArrowRight");
  const said = (await page.locator(".tooltip").textContent()) ?? "";
  await matrix.blur();
  return /→.*: \S/.test(said) ? [] : [`${name}: the arrow keys read no weight (“${said}”)`];
}

/** Milliseconds from one frame to the next while `act` runs. */
async function frames(page: Page, act: () => Promise<void>): Promise<number[]> {
  await page.evaluate(() => {
    const w = window as unknown as { times: number[]; on: boolean };
    w.times = [];
    w.on = true;
    const tick = (time: number): void => {
      w.times.push(time);
      if (w.on) requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  });
  await act();
  const times = await page.evaluate(() => {
    const w = window as unknown as { times: number[]; on: boolean };
    w.on = false;
    return w.times;
  });
  return times.slice(1).map((time, i) => time - times[i]!);
}

function spread(times: number[]): string {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (share: number): string =>
    (sorted[Math.floor(share * (sorted.length - 1))] ?? NaN).toFixed(0);
  return `${sorted.length} frames, median ${at(0.5)} ms, 95 % ${at(0.95)} ms, longest ${at(1)} ms`;
}

async function firstPaint(page: Page): Promise<string> {
  const time = await page.evaluate(
    () => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? NaN,
  );
  return `first paint ${time.toFixed(0)} ms`;
}

/** Only what is in sight is drawn; figures are told, not judged: they depend on the machine. */
export async function checkLongDocument(page: Page): Promise<string[]> {
  const problems: string[] = [];
  console.log(`     ${await firstPaint(page)}`);
  const made = await page.locator(".token").count();
  if (made > 3000) problems.push(`${made} tokens were made, of which few are in sight`);
  await page.locator(".overview").scrollIntoViewIfNeeded();
  const scrolling = await frames(page, async () => {
    for (let i = 0; i < 40; i += 1) {
      await page.mouse.wheel(0, 160);
      await page.waitForTimeout(16);
    }
  });
  console.log(`     scroll: ${spread(scrolling)}`);
  const words = page.locator(".token:visible");
  const hovering = await frames(page, async () => {
    for (let i = 0; i < 20; i += 1) await words.nth(i * 5).hover({ force: true });
  });
  console.log(`     hover: ${spread(hovering)}`);
  return problems;
}

export async function checkLargeModel(page: Page): Promise<string[]> {
  const problems: string[] = [];
  console.log(`     ${await firstPaint(page)}`);
  await page.getByLabel("Picture", { exact: true }).selectOption("heads");
  const thumbs = page.locator(".thumb");
  if ((await thumbs.count()) !== 144) problems.push(`${await thumbs.count()} heads of 144`);
  await thumbs.nth(100).click();
  const matrix = page.locator(".large .matrix");
  await matrix.scrollIntoViewIfNeeded();
  for (let i = 0; i < 6; i += 1) await page.getByRole("button", { name: /^Enlarge/ }).click();
  const box = (await matrix.boundingBox())!;
  const hovering = await frames(page, async () => {
    for (let i = 0; i < 60; i += 1) await page.mouse.move(box.x + 40 + i * 6, box.y + 60 + i * 3);
  });
  console.log(`     hover: ${spread(hovering)}`);
  if (!/→/.test((await page.locator(".tooltip").textContent()) ?? ""))
    problems.push("no weight on hover");
  const scrolling = await frames(page, async () => {
    for (let i = 0; i < 40; i += 1) {
      await page.mouse.wheel(60, 60);
      await page.waitForTimeout(16);
    }
  });
  console.log(`     scroll: ${spread(scrolling)}`);
  return problems;
}
