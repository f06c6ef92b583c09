/** The HTML file that `heed report` writes, made from the built bundle. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";

export function readBundle(): { js: string; css: string } {
  const dist = (name: string): string => readFileSync(resolve("dist", name), "utf8");
  return { js: dist("viewer.js"), css: dist("viewer.css") };
}

/** Inside a script element `<` is escaped, so that no text of the data can end it. */
export function dataScript(json: string): string {
  const text = json.replaceAll("<", "\\u003c");
  return `<script type="application/json" id="heed-data">${text}</script>`;
}

export function reportPage(title: string, data: string): string {
  const { js, css } = readBundle();
  const escaped = title.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>${escaped}</title><style>${css}</style></head>`,
    `<body><div id="app"></div>${data}<script>${js}</script></body></html>\n`,
  ].join("\n");
}
