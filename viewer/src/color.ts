/**
 * How a variant is told from the others: colour (safe for colour-blind readers, defined in
 * style/palette.css for light and dark), dash and marker shape. The counts of the three share no factor,
 * so 6 × 5 × 7 variants differ in at least one.
 */
const kColors = 6;
const kDashes = ["", "7 3", "2 3", "9 3 2 3", "4 2"];
const kShapes = ["circle", "square", "diamond", "triangle", "down", "cross", "hexagon"] as const;

export interface Mark {
  color: string;
  dash: string;
  shape: (typeof kShapes)[number];
}

export function variantMark(index: number): Mark {
  return {
    color: `var(--v${index % kColors})`,
    dash: kDashes[index % kDashes.length]!,
    shape: kShapes[index % kShapes.length]!,
  };
}

/** Path of a marker of about the same area for every shape, centred on (x, y). */
export function markerPath(shape: Mark["shape"], x: number, y: number, r: number): string {
  const polygon = (sides: number, turn: number, radius: number): string => {
    const corners = Array.from({ length: sides }, (_, i) => {
      const angle = turn + (2 * Math.PI * i) / sides;
      return `${round(x + radius * Math.cos(angle))} ${round(y + radius * Math.sin(angle))}`;
    });
    return `M${corners.join("L")}Z`;
  };
  const quarter = Math.PI / 4;
  switch (shape) {
    case "circle":
      return `M${round(x - r)} ${round(y)}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`;
    case "square":
      return polygon(4, quarter, r * 1.25);
    case "diamond":
      return polygon(4, 0, r * 1.3);
    case "triangle":
      return polygon(3, -Math.PI / 2, r * 1.45);
    case "down":
      return polygon(3, Math.PI / 2, r * 1.45);
    case "hexagon":
      return polygon(6, 0, r * 1.1);
    case "cross": {
      const a = r * 0.4;
      const b = r * 1.15;
      const corners = [
        [a, -b],
        [a, -a],
        [b, -a],
        [b, a],
        [a, a],
        [a, b],
        [-a, b],
        [-a, a],
        [-b, a],
        [-b, -a],
        [-a, -a],
        [-a, -b],
      ] as const;
      return `M${corners.map(([dx, dy]) => `${round(x + dx)} ${round(y + dy)}`).join("L")}Z`;
    }
  }
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

/** How strongly a token is shaded: its weight over the weight that gets full colour, 0 to 1. */
export function shade(weight: number, full: number): number {
  if (!Number.isFinite(weight) || !(full > 0)) return 0;
  return Math.min(1, Math.max(0, weight / full));
}
