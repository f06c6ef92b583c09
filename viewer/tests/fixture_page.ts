/** `npm run fixture -- OUT.html [single|broken]`: a report to look at, made from invented runs. */
import { writeFileSync } from "node:fs";
import { fixture, singleRun } from "./fixture";
import { dataScript, reportPage } from "./page";

export function main([out, kind]: string[]): number {
  if (!out) {
    console.error("usage: npm run fixture -- OUT.html [single|broken]");
    return 2;
  }
  const json = JSON.stringify(kind === "single" ? singleRun() : fixture());
  const data = dataScript(kind === "broken" ? json.slice(0, 2000) : json);
  writeFileSync(out, reportPage("heed fixture", data));
  return 0;
}
