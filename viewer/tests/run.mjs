// Runs the main function of a TypeScript file: `node tests/run.mjs FILE [ARGUMENT…]`.
import { resolve } from "node:path";
import { runnerImport } from "vite";

const [file, ...args] = process.argv.slice(2);
try {
  const { module } = await runnerImport(resolve(file), { configFile: false, logLevel: "error" });
  process.exitCode = (await module.main(args)) ?? 0;
} catch (error) {
  console.error(error);
  process.exitCode = 1;
}
