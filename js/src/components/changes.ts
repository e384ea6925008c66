// A change of text as rows to draw: which line stands where on both sides, and which words differ.
import { diffWordsWithSpace, parsePatch, structuredPatch, type StructuredPatchHunk } from "diff";

export interface Piece { text: string; changed: boolean }
export interface Row {
  kind: "same" | "removed" | "added";
  before: number | null;
  after: number | null;
  pieces: readonly Piece[];
}
export interface Hunk {
  /** Unchanged lines that are left out before it. */
  skipped: number;
  rows: readonly Row[];
}
export interface Change { hunks: readonly Hunk[]; added: number; removed: number }

const CONTEXT = 3;
const TIMEOUT_MS = 400;
/** Word marks on longer lines say little and cost much. */
const MAX_MARKED_LINE = 600;

const whole = (text: string): readonly Piece[] => [{ text, changed: false }];

/** Marks the words in which two lines differ; none when the lines have little in common. */
function markWords(before: string, after: string): [readonly Piece[], readonly Piece[]] | null {
  if (before.length > MAX_MARKED_LINE || after.length > MAX_MARKED_LINE) return null;
  const parts = diffWordsWithSpace(before, after);
  const common = parts.filter((part) => !part.added && !part.removed).reduce((sum, { value }) => sum + value.trim().length, 0);
  if (common * 3 < Math.max(before.trim().length, after.trim().length)) return null;
  return [
    parts.filter((part) => !part.added).map(({ value, removed }) => ({ text: value, changed: removed })),
    parts.filter((part) => !part.removed).map(({ value, added }) => ({ text: value, changed: added })),
  ];
}

function toRows({ oldStart, newStart, lines }: StructuredPatchHunk): Row[] {
  const rows: Row[] = [];
  let [before, after] = [oldStart, newStart];
  for (const line of lines) {
    const text = line.slice(1);
    if (line[0] === "-") rows.push({ kind: "removed", before: before++, after: null, pieces: whole(text) });
    else if (line[0] === "+") rows.push({ kind: "added", before: null, after: after++, pieces: whole(text) });
    else if (line[0] === " ") rows.push({ kind: "same", before: before++, after: after++, pieces: whole(text) });
  }
  return rows;
}

/** Runs of removed lines followed by as many added ones are pairs. */
function markPairs(rows: Row[]): void {
  for (let at = 0; at < rows.length; ) {
    let removed = at;
    while (rows[removed]?.kind === "removed") removed += 1;
    let added = removed;
    while (rows[added]?.kind === "added") added += 1;
    const pairs = removed - at;
    if (pairs > 0 && pairs === added - removed) {
      for (let index = 0; index < pairs; index += 1) {
        const [old, fresh] = [rows[at + index] as Row, rows[removed + index] as Row];
        const marked = markWords(old.pieces[0]?.text ?? "", fresh.pieces[0]?.text ?? "");
        if (marked) [old.pieces, fresh.pieces] = marked;
      }
    }
    at = Math.max(added, at + 1);
  }
}

function fromHunks(hunks: readonly StructuredPatchHunk[]): Change {
  let end = 1;
  let [added, removed] = [0, 0];
  const drawn = hunks.map((hunk) => {
    const rows = toRows(hunk);
    markPairs(rows);
    for (const { kind } of rows) {
      if (kind === "added") added += 1;
      else if (kind === "removed") removed += 1;
    }
    const skipped = Math.max(0, hunk.oldStart - end);
    end = hunk.oldStart + hunk.oldLines;
    return { skipped, rows };
  });
  return { hunks: drawn, added, removed };
}

/** The change from one text to the other; every line removed and added when it is too big to compare. */
export function changeOf(before: string | null, after: string): Change {
  const patch = structuredPatch("a", "b", before ?? "", after, "", "", { context: CONTEXT, timeout: TIMEOUT_MS });
  if (patch) return fromHunks(patch.hunks);
  const linesOf = (text: string): string[] => text.replace(/\n$/, "").split("\n");
  const [old, fresh] = [linesOf(before ?? ""), linesOf(after)];
  const lines = [...old.map((line) => `-${line}`), ...fresh.map((line) => `+${line}`)];
  return fromHunks([{ oldStart: 1, oldLines: old.length, newStart: 1, newLines: fresh.length, lines }]);
}

/** The changes in a unified patch, or null when it is none. */
export function changeOfPatch(patch: string): Change | null {
  try {
    const hunks = parsePatch(patch).flatMap((file) => file.hunks);
    return hunks.length > 0 ? fromHunks(hunks) : null;
  } catch {
    return null;
  }
}

/** Rows side by side: what was removed stands beside what came in its place. */
export function sideBySide(rows: readonly Row[]): [Row | null, Row | null][] {
  const pairs: [Row | null, Row | null][] = [];
  for (let at = 0; at < rows.length; ) {
    const row = rows[at] as Row;
    if (row.kind === "same") {
      pairs.push([row, row]);
      at += 1;
      continue;
    }
    const left: Row[] = [];
    const right: Row[] = [];
    while (rows[at] && (rows[at] as Row).kind !== "same") {
      const next = rows[at++] as Row;
      (next.kind === "removed" ? left : right).push(next);
    }
    for (let index = 0; index < Math.max(left.length, right.length); index += 1) pairs.push([left[index] ?? null, right[index] ?? null]);
  }
  return pairs;
}
