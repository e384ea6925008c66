// The end of a text that is still being written, shown as what it is going to be: an open emphasis or
// code span is closed, marks that only begin something are held back. Only the last paragraph is touched.

const FENCE = /^ {0,3}(?:[-*+>] +|\d{1,9}[.)] +|> ?)*(`{3,}|~{3,})/;
/** A last line that may become a fence, a heading, a rule, a list item or a setext underline. */
const BEGINNING = /(^|\n)[ \t>]*(?:`{1,2}|~{1,2}|#{1,6}[ \t]*|[-*+=_]{1,2}[ \t]*)$/;

/** The fence that is open at the end of `text`, or null. */
function openFence(text: string): string | null {
  let open: string | null = null;
  for (const line of text.split("\n")) {
    const fence = FENCE.exec(line)?.[1];
    if (open === null) {
      if (fence && !(fence[0] === "`" && line.slice(line.indexOf(fence) + fence.length).includes("`"))) open = fence;
    } else if (fence && fence[0] === open[0] && fence.length >= open.length && /^[ \t>]*(`+|~+)[ \t]*$/.test(line)) {
      open = null;
    }
  }
  return open;
}

/** `text` with its open end closed for display. */
export function repair(text: string): string {
  const fence = openFence(text);
  if (fence !== null) {
    // Closing ticks that are still coming are not code.
    const partial = new RegExp(`\\n[ \\t]*\\${fence[0]}{1,${fence.length - 1}}$`);
    return text.replace(partial, "\n");
  }
  const held = text.replace(BEGINNING, "$1");
  if (held !== text) return held;
  const start = Math.max(text.lastIndexOf("\n\n"), 0);
  const last = text.slice(start);
  if (/(?:^|\n)(?: {4}|\t)[^\n]*$/.test(last) && !/(?:^|\n) {0,3}(?:[-*+]|\d+[.)]) /.test(last)) return text; // indented code
  return text.slice(0, start) + closeInline(last);
}

/** Closes what is open in one paragraph: code spans, `**`, `*`, `_`, `~~`. */
function closeInline(text: string): string {
  const open: string[] = [];
  let at = 0;
  while (at < text.length) {
    const rest = text.slice(at);
    const sign = /^(?:\\[\s\S]|`+|\*{1,3}|_{1,3}|~~)/.exec(rest)?.[0];
    if (!sign) {
      at += /^[^\\`*_~]+|^[\s\S]/.exec(rest)?.[0].length ?? 1;
      continue;
    }
    const before = at > 0 ? (text[at - 1] as string) : "\n";
    const after = text[at + sign.length] ?? "";
    at += sign.length;
    if (sign[0] === "\\") continue;
    if (sign[0] === "`") {
      const end = new RegExp(`(?<!\`)${sign}(?!\`)`).exec(text.slice(at));
      if (end) at += end.index + sign.length;
      else if (after === "") return closeMarks(text.slice(0, -sign.length), open);
      else return closeMarks(text + (text.endsWith("`") ? " " : "") + sign, open);
      continue;
    }
    const opens = after !== "" && !/\s/.test(after) && (sign[0] !== "_" || /[\s\p{P}]/u.test(before));
    const closes = !/\s/.test(before) && open.includes(sign);
    if (closes) open.splice(open.lastIndexOf(sign));
    else if (opens) open.push(sign);
    else if (after === "" && sign !== "~~" && /[\s\p{P}]/u.test(before) && before !== "\n") {
      return closeMarks(text.slice(0, -sign.length), open); // a mark that has nothing to mark yet
    }
  }
  return closeMarks(text, open);
}

function closeMarks(text: string, open: readonly string[]): string {
  if (open.length === 0) return text;
  const end = text.trimEnd();
  return end + [...open].reverse().join("") + text.slice(end.length);
}
