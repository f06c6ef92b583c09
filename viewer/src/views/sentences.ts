/** The held-out sentences: choose, search, sort, page through them. */
import { exportButtons } from "../charts/figure";
import { variantMark } from "../color";
import { button, checkbox, search, segmented, select, type Choice } from "../controls";
import type { Report, Run } from "../data";
import { h, replaceChildren, type Child } from "../dom";
import {
  collectItems,
  goldLabel,
  runsOfSeed,
  selectItems,
  type Filter,
  type Item,
  type Sort,
} from "../examples";
import { formatCount } from "../format";
import { kPictures } from "../pictures";
import type { Picture } from "../pictures/picture";
import { exampleView, weightTable, type ShadeScale } from "./example";
import { swatch } from "./swatch";

const kPageSize = 10;
const kAllLabels = "all labels";
const kMostTelling = "most telling";

interface State {
  filter: Filter;
  label: string; // "=positive", or kAllLabels
  search: string;
  sort: Sort;
  judge: string;
  seed: number;
  scale: ShadeScale;
  picture: string;
  difference: boolean;
  page: number;
}

export function sentencesView(report: Report): Child {
  const items = collectItems(report.runs);
  const runs = report.runs.filter((run) => run.examples.length > 0);
  const variants = report.variants
    .map(({ name }) => name)
    .filter((name) => runs.some((run) => run.variant === name));
  const [firstRun, firstVariant] = [runs[0], variants[0]];
  if (!firstRun || !firstVariant) {
    return h("p", { class: "empty" }, "No examples were recorded for these runs.");
  }

  const state: State = {
    filter: "all",
    label: kAllLabels,
    search: "",
    sort: "id",
    judge: mostTelling(report, variants),
    seed: firstRun.seed,
    scale: "absolute",
    picture: kMostTelling,
    difference: false,
    page: 0,
  };
  const shown = new Set(variants);
  const status = h("p", { class: "status", role: "status" });
  const list = h("div", { class: "examples" });
  const pager = h("nav", { class: "pager", "aria-label": "Pages of sentences" });
  let selected: Item[] = [];
  let shownRuns: Run[] = [];

  const refresh = (): void => {
    shownRuns = runsOfSeed(
      runs,
      variants.filter((name) => shown.has(name)),
      state.seed,
    );
    const judge = runsOfSeed(runs, [state.judge], state.seed)[0] ?? firstRun;
    const label = state.label === kAllLabels ? null : state.label.slice(1);
    selected = selectItems(items, { ...state, label, judge, shown: shownRuns });
    state.page = 0;
    draw();
  };
  const draw = (): void => {
    const start = state.page * kPageSize;
    const page = selected.slice(start, start + kPageSize);
    status.textContent =
      selected.length === 0
        ? "No sentence matches. Widen the filter or clear the search."
        : `${start + 1}–${start + page.length} of ${formatCount(selected.length, "sentence")}` +
          (selected.length < items.length ? ` (${items.length} in all)` : "");
    replaceChildren(
      list,
      shownRuns.length === 0
        ? h("p", { class: "empty" }, "Choose at least one variant.")
        : page.map((item) => exampleView({ ...state, report, item, runs: shownRuns })),
    );
    const last = Math.ceil(selected.length / kPageSize) - 1;
    const turn = (to: number, pressed: string): void => {
      state.page = to;
      draw();
      status.scrollIntoView({ block: "nearest" });
      const enabled = [...pager.querySelectorAll<HTMLButtonElement>("button:not([disabled])")];
      const same = enabled.find((each) => each.title === pressed);
      (same ?? enabled[0])?.focus({ preventScroll: true });
    };
    const step = (text: string, title: string, to: number): HTMLElement => {
      const control = button(text, title, () => turn(to, title));
      control.disabled = to < 0 || to > last;
      return control;
    };
    replaceChildren(
      pager,
      last > 0 && [
        step("← Previous", "Previous page", state.page - 1),
        h("span", {}, `Page ${state.page + 1} of ${last + 1}`),
        step("Next →", "Next page", state.page + 1),
      ],
    );
  };
  const set =
    <K extends keyof State>(key: K) =>
    (value: State[K]): void => {
      state[key] = value;
      refresh();
    };

  const pictures = offeredPictures(report, runs);
  const several = variants.length > 1;
  const seeds = [...new Set(runs.map((run) => run.seed))];
  const labels = [...new Set(items.flatMap((item) => goldLabel(item) ?? []))].sort();
  const asChoice = (text: string): { value: string; text: string } => ({ value: text, text });
  const controls = h(
    "div",
    { class: "controls" },
    select<Filter>(
      "Show",
      [
        { value: "all", text: "All" },
        { value: "right", text: "Right" },
        { value: "wrong", text: "Wrong" },
        ...(several ? [{ value: "disagree" as const, text: "Variants disagree" }] : []),
      ],
      state.filter,
      set("filter"),
    ),
    several && select("Judged by", variants.map(asChoice), state.judge, set("judge")),
    labels.length > 1 &&
      select(
        "True label",
        [
          { value: kAllLabels, text: "All" },
          ...labels.map((text) => ({ value: `=${text}`, text })),
        ],
        state.label,
        set("label"),
      ),
    select<Sort>(
      "Sort by",
      [
        { value: "id", text: "Id" },
        { value: "share-up", text: "Weight on rationale, low first" },
        { value: "share-down", text: "Weight on rationale, high first" },
        { value: "entropy-up", text: "Entropy, low first" },
        { value: "entropy-down", text: "Entropy, high first" },
      ],
      state.sort,
      set("sort"),
    ),
    seeds.length > 1 &&
      select("Seed", seeds.map(String).map(asChoice), String(state.seed), (seed) =>
        set("seed")(Number(seed)),
      ),
    search("Search the text", set("search")),
  );
  const looks = h(
    "div",
    { class: "controls" },
    several &&
      h(
        "fieldset",
        { class: "legend" },
        h("legend", { class: "vh" }, "Variants shown"),
        variants.map((name) => {
          const index = report.variants.findIndex((variant) => variant.name === name);
          const text = h("span", { class: "who" }, swatch(variantMark(index)), name);
          return checkbox(text, true, (checked) => {
            if (checked) shown.add(name);
            else shown.delete(name);
            refresh();
          });
        }),
      ),
    pictures.length > 1 &&
      select(
        "Picture",
        [{ value: kMostTelling, text: "Most telling" }, ...pictures],
        state.picture,
        (picture) => {
          state.picture = picture;
          draw();
        },
      ),
    segmented<ShadeScale>(
      "Full colour at",
      [
        { value: "absolute", text: "Weight 1" },
        { value: "relative", text: "Largest weight shown" },
      ],
      state.scale,
      (scale) => {
        state.scale = scale;
        draw();
      },
    ),
    several &&
      checkbox("Difference of the first two", false, (checked) => {
        state.difference = checked;
        draw();
      }),
    checkbox("Print the weights", false, (checked) => list.classList.toggle("numbered", checked)),
  );
  // Packed weights stand behind the script: what needs none of them is shown before they are read.
  if (document.readyState === "loading") addEventListener("DOMContentLoaded", refresh);
  else refresh();
  return [
    controls,
    looks,
    legend(items),
    h(
      "div",
      { class: "caption" },
      status,
      exportButtons("Selected sentences", () => {
        const seen = (item: Item) =>
          shownRuns.flatMap((run) => {
            const example = item.byRun.get(run.name);
            return example ? [{ run, example }] : [];
          });
        const tables = selected.map((item) => weightTable(item.id, seen(item)));
        return {
          columns: weightTable("", []).columns,
          rows: tables.flatMap((table) => table.rows),
        };
      }),
    ),
    list,
    pager,
  ];
}

/** The pictures that fit the first example of some run: examples of a task are alike. */
function offeredPictures(report: Report, runs: Run[]): Choice<string>[] {
  const fits = (picture: Picture): boolean =>
    runs.some(
      (run) => run.examples[0] && picture.fits({ report, run, example: run.examples[0], full: 1 }),
    );
  return kPictures.filter(fits).map(({ id, title }) => ({ value: id, text: title }));
}

/** Judge by the most accurate variant: its mistakes are the interesting ones. */
function mostTelling(report: Report, variants: string[]): string {
  const accuracy = (name: string): number =>
    report.variants.find((variant) => variant.name === name)?.metrics.get("accuracy")?.mean ?? NaN;
  return variants.reduce((best, name) => (accuracy(name) > accuracy(best) ? name : best));
}

function legend(items: Item[]): HTMLElement {
  const hasGold = items.some((item) =>
    [...item.byRun.values()].some((example) => (example.gold?.weights.size ?? 0) > 0),
  );
  const word = h("span", { class: "word" }, "word");
  const sample = h("span", { class: "token gold", "aria-hidden": "true" }, word);
  return h(
    "p",
    { class: "key" },
    h("span", {}, h("span", { class: "ramp", "aria-hidden": "true" }), "no weight to full weight"),
    hasGold && h("span", {}, sample, "underlined: part of the true rationale"),
    h("span", {}, "Point at, tap or focus a word for its weight."),
  );
}
