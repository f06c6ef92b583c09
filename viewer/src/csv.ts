/** Tables as RFC 4180 text. Numbers are written in full; an absent one is an empty field. */
export type Cell = string | number | null;

export interface Table {
  columns: string[];
  rows: Cell[][];
}

export function toCsv(table: Table): string {
  return [table.columns, ...table.rows].map((row) => row.map(field).join(",") + "\r\n").join("");
}

function field(cell: Cell): string {
  if (cell === null) return "";
  if (typeof cell === "number") return Number.isFinite(cell) ? String(cell) : "";
  return /[",\r\n]/.test(cell) || cell !== cell.trim() ? `"${cell.replaceAll('"', '""')}"` : cell;
}
