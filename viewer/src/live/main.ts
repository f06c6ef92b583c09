/** The page of `heed serve`: asks the server for its runs and builds the page from them. */
import "../style/palette.css";
import "../style/page.css";
import "../style/figures.css";
import "../style/views.css";
import "../style/media.css";
import "./live.css";
import { select } from "../controls";
import { h, replaceChildren, type Child } from "../dom";
import { formula } from "../math";
import { themeButton } from "../theme";
import { Api, type LiveRun, type Question } from "./api";
import { questionFields, startingQuestion } from "./fields";
import { Panel } from "./panel";
import { Session } from "./session";

const kNone = "";

/** The runs, one or two side by side, all asked the same. */
export class Page {
  private sessions: Session[] = [];
  private readonly pickers = h("div", { class: "controls" });
  private readonly fields = h("div");
  private readonly panels = h("div", { class: "panels" });
  private texts: Map<string, string> | null = null;

  constructor(
    private readonly api: Api,
    private readonly runs: LiveRun[],
    app: Element,
  ) {
    replaceChildren(
      app,
      h("a", { class: "skip", href: "#attention" }, "Skip to the answer"),
      h("div", { class: "bar" }, h("p", { class: "brand" }, "heed, live"), themeButton()),
      h(
        "main",
        { class: "live" },
        h(
          "header",
          { class: "intro" },
          h("h1", {}, "Ask the model, then move its attention"),
          h(
            "p",
            { class: "summary" },
            "Type a text. The bars are the weights the model gives each word; drag one and see whether the answer follows.",
          ),
        ),
        h("section", { "aria-label": "Question" }, this.pickers, this.fields),
        h("section", { id: "attention", "aria-label": "Answer", tabindex: -1 }, this.panels),
      ),
      h(
        "footer",
        {},
        "Answered by this machine. The same by program: ",
        h("a", { href: "/openapi.json" }, "/openapi.json"),
        ".",
      ),
    );
    this.open(runs[0]!, null);
  }

  private open(run: LiveRun, other: LiveRun | null): void {
    for (const session of this.sessions) session.stop();
    const question = startingQuestion(run, this.texts);
    const chosen = other ? [run, other] : [run];
    const built = chosen.map((each) => this.panelOf(each, question));
    this.sessions = built.map(({ session }) => session);
    this.drawPickers(run, other);
    replaceChildren(
      this.fields,
      questionFields(run, question, (asked, typed) => {
        this.texts = asked.inputs;
        for (const session of this.sessions)
          session.ask({ ...asked, run: session.run.name }, typed ? undefined : 0);
      }),
    );
    replaceChildren(
      this.panels,
      built.map(({ element }) => element),
    );
    this.panels.classList.toggle("two", built.length > 1);
  }

  private panelOf(run: LiveRun, question: Question): { session: Session; element: HTMLElement } {
    const session = new Session(this.api, run, { ...question, run: run.name }, () => panel.draw());
    const panel = new Panel(session);
    session.schedule(0);
    const element = h(
      "article",
      { "aria-label": `Run ${run.name}` },
      h("h2", {}, run.name),
      h("p", { class: "kind" }, `${run.mechanism}, task of kind “${run.kind}”`),
      panel.element,
      formulas(run),
    );
    return { session, element };
  }

  private drawPickers(run: LiveRun, other: LiveRun | null): void {
    const named = (name: string): LiveRun | null =>
      this.runs.find((each) => each.name === name) ?? null;
    const beside = this.runs.filter((each) => each !== run && sameInputs(each, run));
    replaceChildren(
      this.pickers,
      this.runs.length > 1 && [
        select("Run", this.runs.map(choiceOf), run.name, (name) => {
          const next = named(name)!;
          this.open(next, other && other !== next && sameInputs(other, next) ? other : null);
        }),
        beside.length > 0 &&
          select(
            "Beside it",
            [{ value: kNone, text: "nothing" }, ...beside.map(choiceOf)],
            other?.name ?? kNone,
            (name) => this.open(run, named(name)),
          ),
      ],
    );
  }
}

function choiceOf({ name, mechanism }: LiveRun): { value: string; text: string } {
  return { value: name, text: `${name} (${mechanism})` };
}

function sameInputs(a: LiveRun, b: LiveRun): boolean {
  return a.inputs.length > 0 && a.inputs.join() === b.inputs.join();
}

function formulas(run: LiveRun): Child {
  return h(
    "details",
    {},
    h("summary", {}, "How it attends"),
    run.parts.map((part) =>
      h(
        "div",
        { class: "part" },
        h("h3", {}, h("span", { class: "group" }, part.group), part.title),
        part.formula !== "" && formula(part.formula),
        h("p", { class: "paper" }, part.paper),
      ),
    ),
  );
}

export async function start(app: Element, api: Api): Promise<void> {
  try {
    const runs = await api.runs();
    new Page(api, runs, app);
  } catch (error) {
    replaceChildren(
      app,
      h(
        "main",
        {},
        h(
          "div",
          { class: "notice", role: "alert" },
          h("h1", {}, "The runs cannot be shown"),
          h("p", {}, error instanceof Error ? error.message : String(error)),
        ),
      ),
    );
  }
}

const app = document.getElementById("app");
if (app) void start(app, new Api(new URLSearchParams(location.search).get("token")));
