import { readFileSync } from "node:fs";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

const kKatexLicense = readFileSync(new URL("node_modules/katex/LICENSE", import.meta.url), "utf8");

/** `heed report` pastes both files into HTML elements: nothing in them may end the element. */
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

export default defineConfig({
  plugins: [pasteable()],
  build: {
    target: "es2022",
    outDir: "dist",
    emptyOutDir: true,
    sourcemap: false,
    lib: {
      entry: "src/main.ts",
      formats: ["iife"],
      name: "heedViewer",
      fileName: () => "viewer.js",
      cssFileName: "viewer",
    },
    rolldownOptions: {
      output: { postBanner: `/*! Contains KaTeX.\n${kKatexLicense.trim()}\n*/` },
    },
  },
  test: { include: ["tests/**/*.test.ts"], maxWorkers: 2 },
});
