// Reads a JSON list of LaTeX formulas, writes the list of their HTML, with MathML for those who listen. A formula KaTeX cannot read is an error.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

const require = createRequire(new URL("../../viewer/package.json", import.meta.url));
const katex = require("katex");
const formulas = JSON.parse(readFileSync(0, "utf8"));
const options = {
  output: "htmlAndMathml",
  displayMode: true,
  throwOnError: true,
  strict: "ignore",
  trust: false,
  maxExpand: 200,
};
process.stdout.write(JSON.stringify(formulas.map((latex) => katex.renderToString(latex, options))));
