/** `npm run fixture -- OUT.html [single|ablation|long|large|broken]`: a report to look at, made from invented runs. */
import { writeFileSync } from "node:fs";
import { ablationReport } from "./ablation_fixture";
import { fixture, singleRun } from "./fixture";
import { largeModel, longDocument } from "./large_fixture";
import { dataScript, reportPage } from "./page";

export function main([out, kind]: string[]): number {
  if (!out) {
    console.error("usage: npm run fixture -- OUT.html [single|ablation|long|large|broken]");
    return 2;
  }
  const reports = {
    single: singleRun,
    ablation: ablationReport,
    long: longDocument,
    large: largeModel,
  };
  const make = reports[kind as keyof typeof reports] ?? fixture;
  const json = JSON.stringify(make());
  const data = dataScript(kind === "broken" ? json.slice(0, 2000) : json);
  writeFileSync(out, reportPage("heed fixture", data));
  return 0;
}
