import { readFileSync } from "node:fs";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

const kKatexLicense = readFileSync(new URL("node_modules/katex/LICENSE", import.meta.url), "utf8");

/** heed pastes the files into HTML elements: nothing in them may end the element. */
function pasteable(): Plugin {
  return {
    name: "heed-pasteable",
    generateBundle(_options, bundle) {
      for (const file of Object.values(bundle)) {
        const text = file.type === "chunk" ? file.code : String(file.source);
        const found = /<\/(script|style)|<!--|\beval\(|new Function\(/i.exec(text);
        if (found) this.error(`${file.fileName} holds "${found[0]}" and cannot stand in a page`);
      }
    },
  };
}

/** Two pages, built one after the other: the report, and with `--mode live` that of `heed serve`. */
export default defineConfig(({ mode }) => ({
  plugins: [pasteable()],
  build: {
    target: "es2022",
    outDir: "dist",
    emptyOutDir: mode !== "live",
    sourcemap: false,
    lib: {
      entry: mode === "live" ? "src/live/main.ts" : "src/main.ts",
      formats: ["iife"],
      name: "heedViewer",
      fileName: () => (mode === "live" ? "live.js" : "viewer.js"),
      cssFileName: mode === "live" ? "live" : "viewer",
    },
    rolldownOptions: {
      output: { postBanner: `/*! Contains KaTeX.\n${kKatexLicense.trim()}\n*/` },
    },
  },
  test: { include: ["tests/**/*.test.ts"], maxWorkers: 2, testTimeout: 30_000 },
}));
