/** Left, target and right as one sentence: each side shaded, the target as each side sees it. */
import { h, type Child } from "../dom";
import { tokenLine } from "../views/tokens";
import { shadedInputs, type ShadedInput } from "../weights";
import type { Picture, Subject } from "./picture";

const kSides = ["left", "target", "right"];

function parts({ example }: Subject): Map<string, ShadedInput[]> {
  const lines = shadedInputs(example).filter((line) => line.weights !== null);
  return new Map(kSides.map((side) => [side, lines.filter((line) => line.input === side)]));
}

export const rotatory: Picture = {
  id: "rotatory",
  title: "Left, target, right",
  fits: ({ example }) => {
    const looked = example.maps.map((map) => map.keyInput);
    return looked.includes("left") && looked.includes("right");
  },
  draw: (subject) => {
    const found = parts(subject);
    return h(
      "div",
      { class: "rotatory" },
      kSides.map((side) => sideView(subject, side, found.get(side)!)),
    );
  },
};

function sideView({ example, run, full }: Subject, side: string, lines: ShadedInput[]): Child {
  const tokens = example.inputs.get(side) ?? [];
  return h(
    "div",
    { class: `side ${side}` },
    h("p", { class: "what" }, side),
    lines.length === 0
      ? h("p", { class: "tokens" }, tokens.join(" "))
      : lines.map((line) => [
          tokenLine(line, full, `${run.name}, ${line.map}`),
          lines.length > 1 && h("p", { class: "numbers" }, line.map),
        ]),
  );
}
