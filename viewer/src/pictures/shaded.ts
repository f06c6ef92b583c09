/** The tokens of every input, shaded by the weight they get. */
import { h } from "../dom";
import { formatValue } from "../format";
import { tokenLine } from "../views/tokens";
import { entropy, rationaleShare, shadedInputs } from "../weights";
import type { Picture } from "./picture";

export const shaded: Picture = {
  id: "shaded",
  title: "Shaded text",
  fits: () => true,
  draw: ({ example, run, full }) => {
    const lines = shadedInputs(example);
    return h(
      "div",
      { class: "texts" },
      lines.map((line) => {
        const share = rationaleShare(line.weights, line.gold);
        const spread = entropy(line.weights);
        const notes = [
          Number.isFinite(share) && `${formatValue(share, "share")} on the rationale`,
          Number.isFinite(spread) && `entropy ${spread.toFixed(2)} nats`,
          line.merged !== "" && `mean over ${line.merged}`,
          line.weights === null && "no weights recorded",
        ].filter((note) => note !== false);
        const what = line.map === null ? line.input : `${line.map} on ${line.input}`;
        return h(
          "div",
          { class: "text" },
          lines.length > 1 && h("p", { class: "what" }, what),
          tokenLine(line, full, `${run.name}, ${what}`),
          h("p", { class: "numbers" }, notes.join(" · ")),
        );
      }),
    );
  },
};
