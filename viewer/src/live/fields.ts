/** What is asked about: a field for each input of the task, or a recorded example. */
import { select } from "../controls";
import { freshId, h, type Child } from "../dom";
import type { LiveRun, Question, StartingPoint } from "./api";

const kOwn = ""; // the choice of a text of one's own
const kLongInputs = new Set(["text", "story", "points", "first", "second"]);

export function startingQuestion(run: LiveRun, texts: Map<string, string> | null): Question {
  const first = run.examples[0];
  const inputs = new Map(
    run.inputs.map((name) => [name, texts?.get(name) ?? first?.inputs.get(name) ?? ""]),
  );
  return { run: run.name, inputs, id: run.inputs.length === 0 ? (first?.id ?? "") : null };
}

/** `onChange` gets the question with every change, typed or picked. */
export function questionFields(
  run: LiveRun,
  start: Question,
  onChange: (question: Question, typed: boolean) => void,
): HTMLElement {
  const inputs = new Map(start.inputs);
  const areas = new Map(run.inputs.map((name) => [name, field(name)]));
  const tell = (typed: boolean): void => onChange({ ...start, inputs: new Map(inputs) }, typed);

  function field(name: string): HTMLTextAreaElement {
    const area = h("textarea", {
      id: freshId("field"),
      rows: kLongInputs.has(name) ? 3 : 2,
      dir: "auto",
      spellcheck: "false",
      autocomplete: "off",
      oninput: () => {
        inputs.set(name, area.value);
        if (picker.firstElementChild) picker.querySelector("select")!.value = kOwn;
        tell(true);
      },
    });
    area.value = inputs.get(name) ?? "";
    return area;
  }

  const pick = (id: string): void => {
    const example = run.examples.find((each) => each.id === id);
    if (!example) return;
    if (run.inputs.length === 0) return onChange({ ...start, id }, false);
    for (const name of run.inputs) {
      inputs.set(name, example.inputs.get(name) ?? "");
      areas.get(name)!.value = inputs.get(name)!;
    }
    tell(false);
  };
  const picker = h("div", { class: "controls" }, examplePicker(run, start, pick));
  return h(
    "div",
    { class: "question" },
    run.inputs.map((name): Child => {
      const area = areas.get(name)!;
      return h("div", { class: "control grow" }, h("label", { for: area.id }, capital(name)), area);
    }),
    picker,
  );
}

function examplePicker(run: LiveRun, start: Question, pick: (id: string) => void): Child {
  if (run.examples.length === 0) return null;
  const choices = run.examples.map((example) => ({ value: example.id, text: title(example) }));
  const own = { value: kOwn, text: "your own" };
  const first = run.examples[0]!;
  const isFirst = run.inputs.every((name) => start.inputs.get(name) === first.inputs.get(name));
  return select(
    "Start from an example of the test data",
    run.inputs.length === 0 ? choices : [own, ...choices],
    run.inputs.length === 0 ? (start.id ?? first.id) : isFirst ? first.id : kOwn,
    pick,
  );
}

function title({ id, label, inputs }: StartingPoint): string {
  const text = [...inputs.values()].join(" · ").replace(/\s+/g, " ");
  const short = [...text].length > 60 ? `${[...text].slice(0, 60).join("")}…` : text;
  return `${id}${label === null ? "" : ` (${label})`}${short === "" ? "" : `: ${short}`}`;
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
