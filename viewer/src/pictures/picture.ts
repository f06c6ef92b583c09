/** What can be drawn of one example under one run. A picture is a file here and a line in index.ts. */
import type { Example, Report, Run } from "../data";
import type { Child } from "../dom";

export interface Subject {
  report: Report;
  run: Run;
  example: Example;
  /** The weight that gets full colour. */
  full: number;
}

export interface Picture {
  id: string;
  title: string;
  /** Whether the example's maps have the shape that this picture is for. It must not ask for weights. */
  fits: (subject: Subject) => boolean;
  draw: (subject: Subject) => Child;
}
