/** Reads the report's data from the page and builds the page from it. */
import "./style/palette.css";
import "./style/page.css";
import "./style/figures.css";
import "./style/views.css";
import "./style/pictures.css";
import "./style/shapes.css";
import "./style/media.css";
import { DataError, parseReport, type Report } from "./data";
import { h, replaceChildren, type Child } from "./dom";
import { themeButton } from "./theme";
import { ablationView } from "./views/ablation";
import { auditView } from "./views/audit";
import { comparisonView } from "./views/comparison";
import { curvesView } from "./views/curves";
import { headerView } from "./views/header";
import { mechanismsView } from "./views/mechanisms";
import { sentencesView } from "./views/sentences";

interface Section {
  id: string;
  /** Whether the report has it; always, if nothing is said. */
  when?: (report: Report) => boolean;
  title: (report: Report) => string;
  view: (report: Report) => Child;
}

const kSections: Section[] = [
  {
    id: "ablation",
    when: ({ ablation }) => ablation !== null,
    title: () => "Ablation",
    view: ablationView,
  },
  {
    id: "comparison",
    // It marks the best on test data, which an ablation must not choose by.
    when: ({ ablation }) => ablation === null,
    title: (report) => (report.variants.length > 1 ? "Comparison" : "Results"),
    view: comparisonView,
  },
  {
    id: "audit",
    when: ({ runs }) => runs.some((run) => run.audit !== null),
    title: () => "Audit",
    view: auditView,
  },
  { id: "curves", title: () => "Training", view: curvesView },
  { id: "sentences", title: () => "Sentences", view: sentencesView },
  { id: "mechanisms", title: () => "Mechanisms", view: mechanismsView },
];

export function render(app: Element, text: string | null): void {
  const bar = h("div", { class: "bar" });
  try {
    if (text === null || text.trim() === "") throw new DataError("the page holds no data");
    const report = parseReport(text);
    const sections = kSections.filter(({ when }) => when === undefined || when(report));
    replaceChildren(
      bar,
      h(
        "nav",
        { "aria-label": "Sections" },
        sections.map(({ id, title }) => h("a", { href: `#${id}` }, title(report))),
      ),
      themeButton(),
    );
    replaceChildren(
      app,
      h("a", { class: "skip", href: `#${sections[0]!.id}` }, "Skip to the results"),
      bar,
      h(
        "main",
        {},
        headerView(report),
        sections.map((section) => sectionView(section, report)),
      ),
      h("footer", {}, `Made by heed ${report.heed}. This file is complete: it needs no network.`),
    );
  } catch (error) {
    replaceChildren(bar, themeButton());
    replaceChildren(app, bar, h("main", {}, unreadable(error)));
  }
}

/** A view that fails says so in its own section; the others stand. */
function sectionView({ id, title, view }: Section, report: Report): HTMLElement {
  const heading = h("h2", { id: `${id}-title` }, title(report));
  const section = h("section", { id, "aria-labelledby": heading.id, tabindex: -1 }, heading);
  try {
    section.append(h("div", { class: "body" }, view(report)));
  } catch (error) {
    section.append(
      h("p", { class: "notice", role: "alert" }, `This part cannot be shown: ${message(error)}`),
    );
  }
  return section;
}

function unreadable(error: unknown): HTMLElement {
  return h(
    "div",
    { class: "notice", role: "alert" },
    h("h1", {}, "This report cannot be shown"),
    h("p", {}, h("code", {}, message(error))),
    h(
      "p",
      {},
      "Write the file again with “heed report”; if it stays, the run directory is damaged.",
    ),
  );
}

function message(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

const app = document.getElementById("app");
if (app) render(app, document.getElementById("heed-data")?.textContent ?? null);
