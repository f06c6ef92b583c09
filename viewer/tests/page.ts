/** The HTML file that `heed report` writes, made from the built bundle. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";

export function readBundle(): { js: string; css: string } {
  const dist = (name: string): string => readFileSync(resolve("dist", name), "utf8");
  return { js: dist("viewer.js"), css: dist("viewer.css") };
}

export interface PageData {
  /** The element with the JSON. */
  json: string;
  /** The elements with packed weights, which come last. */
  packed: string;
}

/** Inside a script element `<` is escaped, so that no text of the data can end it. */
export function dataScript(json: string): PageData {
  const packed: string[] = [];
  const rest = json.replace(/"packed":"([^"]*)"/g, (_, base64: string) => {
    const id = `heed-packed-${packed.length + 1}`;
    packed.push(`<script type="text/plain" id="${id}">${base64}</script>`);
    return `"packed":"${id}"`;
  });
  const text = rest.replaceAll("<", "\\u003c");
  return {
    json: `<script type="application/json" id="heed-data">${text}</script>`,
    packed: packed.join(""),
  };
}

export function reportPage(title: string, { json, packed }: PageData): string {
  const { js, css } = readBundle();
  const escaped = title.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>${escaped}</title><style>${css}</style></head>`,
    `<body><div id="app">Reading the report …</div>${json}<script>${js}</script>${packed}</body></html>\n`,
  ].join("\n");
}
