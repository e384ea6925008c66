// Where TeX stands in prose. `$$`, `\[ \]` and `\( \)` always mean maths; a single `$` only where it
// cannot be a price: no space inside the signs, no letter or digit outside them. Maths never holds a
// blank line, so half a formula can swallow no more than its own paragraph.

export interface MathsMatch {
  raw: string;
  tex: string;
  display: boolean;
}

const NO_BLANK_LINE = String.raw`(?:\\[\s\S]|[^\\\n]|\n(?![ \t]*(?:\n|$)))`;
const DOUBLE_DOLLAR = new RegExp(String.raw`^\$\$(?!\$)((?:\\[^\n]|[^\\$\n]|\$(?!\$)|\n(?![ \t]*(?:\n|$)))+?)\$\$(?!\$)`);
const BRACKETS = new RegExp(String.raw`^\\\[(${NO_BLANK_LINE}+?)\\\]`);
const PARENTHESES = new RegExp(String.raw`^\\\((${NO_BLANK_LINE}+?)\\\)`);
const SINGLE_DOLLAR = /^\$(?![\s$])((?:\\[^\n]|[^\\$`\n])+?)(?<![\s\\])\$(?![\w$])/;

/** Reads maths at the start of `source`; `before` is the character in front of it. */
export function matchMaths(source: string, before: string): MathsMatch | null {
  const found = (match: RegExpExecArray | null, display: boolean): MathsMatch | null =>
    match?.[1]?.trim() ? { raw: match[0], tex: match[1].trim(), display } : null;
  if (source.startsWith("$$")) return found(DOUBLE_DOLLAR.exec(source), true);
  if (source.startsWith("\\[")) return found(BRACKETS.exec(source), true);
  if (source.startsWith("\\(")) return found(PARENTHESES.exec(source), false);
  if (source.startsWith("$") && !/[\w$\\]/.test(before)) return found(SINGLE_DOLLAR.exec(source), false);
  return null;
}

const SIGN = /\$|\\[([]/g;

/** Where maths may begin in `source`, or undefined. */
export function mathsStart(source: string): number | undefined {
  SIGN.lastIndex = 0;
  for (let sign = SIGN.exec(source); sign; sign = SIGN.exec(source)) {
    const before = sign.index > 0 ? (source[sign.index - 1] as string) : "";
    if (matchMaths(source.slice(sign.index), before)) return sign.index;
    if (sign[0] === "$" && source[sign.index + 1] === "$") SIGN.lastIndex = sign.index + 2;
  }
  return undefined;
}

/** Hides maths from the search for emphasis: the same length, no marks. */
export function maskMaths(source: string): string {
  let masked = "";
  let rest = source;
  for (let at = mathsStart(rest); at !== undefined; at = mathsStart(rest)) {
    const match = matchMaths(rest.slice(at), at > 0 ? (rest[at - 1] as string) : "");
    const length = match?.raw.length ?? 1;
    masked += rest.slice(0, at) + "a".repeat(length);
    rest = rest.slice(at + length);
  }
  return masked + rest;
}
