// One growing Markdown text as a list of rendered blocks.
//
// Rules. Finished blocks are lexed and rendered once. The last three blocks stay open, because what is
// appended can still change them; the cut lies only behind a token that ends by itself (blank line,
// heading, rule, closed fence), so that lexing from there gives what a full parse gives. A link or
// footnote definition that comes later takes the cut back to the start if a finished block mentions it.
// A block whose HTML did not change is the same object.
import type { Token } from "marked";
import { definitions, emptyScope, lex, NO_DEFINITIONS, render, type Definitions, type RenderScope } from "./grammar";
import { repair } from "./repair";

export interface Block {
  readonly html: string;
}

/** One or more tokens that are rendered together, and the footnotes mentioned up to its end. */
interface Rendered {
  type: string;
  raw: string;
  block: Block | null;
  notes: number;
}

const OPEN_BLOCKS = 3;
const FINAL = new Set(["space", "heading", "hr", "mathsBlock"]);

export class MarkdownDocument {
  private text = "";
  private base = 0;
  private finished: Rendered[] = [];
  private finishedNotes = new Map<string, number>();
  private finishedDefinitions = NO_DEFINITIONS;
  private known = NO_DEFINITIONS;
  private blocks: readonly Block[] = [];
  readonly scope: RenderScope = emptyScope();

  /** The blocks of `text`. While `streaming`, half-typed constructs at its end are shown as what they will be. */
  update(text: string, streaming = false): readonly Block[] {
    const clean = text.includes("\r") ? text.replace(/\r\n?/g, "\n") : text;
    if (!clean.startsWith(this.text.slice(0, this.base))) this.forget();
    this.text = clean;
    const tail = clean.slice(this.base);
    const shown = streaming ? repair(tail) : tail;
    const tokens = lex(shown, streaming, this.finishedDefinitions);
    const before = this.known;
    this.known = definitions(tokens);
    if (this.base > 0 && changedLabels(before, this.known).some((label) => this.isMentioned(label))) {
      this.forget();
      return this.update(text, streaming);
    }
    const open = this.renderOpen(tokens);
    const next = [...this.finished, ...open].flatMap(({ block }) => (block ? [block] : []));
    const notes = this.renderFootnotes();
    if (notes) next.push({ html: notes });
    const shownBefore = this.blocks;
    this.blocks = next.map((block, index) => (shownBefore[index]?.html === block.html ? shownBefore[index] : block));
    this.finish(open, shown, tail);
    return this.blocks;
  }

  /** Renders everything anew at the next update: the maths library came, an image was asked for. */
  forget(): void {
    this.base = 0;
    this.finished = [];
    this.finishedNotes = new Map();
    this.finishedDefinitions = NO_DEFINITIONS;
  }

  private renderOpen(tokens: readonly Token[]): Rendered[] {
    this.scope.footnoteNumbers = new Map(this.finishedNotes);
    const grouped: Token[][] = [];
    for (const token of tokens) {
      const last = grouped.at(-1);
      // Neighbouring text tokens are one paragraph to the renderer.
      if (token.type === "text" && last?.[0]?.type === "text") last.push(token);
      else grouped.push([token]);
    }
    return grouped.map((group) => {
      const type = group[0]?.type ?? "";
      const html = type === "space" ? "" : render(group, this.scope);
      const raw = group.map((token) => token.raw).join("");
      return { type, raw, block: html ? { html } : null, notes: this.scope.footnoteNumbers.size };
    });
  }

  private renderFootnotes(): string {
    const { footnoteNumbers } = this.scope;
    if (footnoteNumbers.size === 0) return "";
    let items = "";
    for (const [key, number] of footnoteNumbers) {
      const tokens = lex(this.known.footnotes.get(key) ?? "", false, this.known);
      items += `<li data-footnote="${number}" dir="auto">${render(tokens, this.scope)}</li>\n`;
    }
    return `<section class="acp-footnotes"><ol>\n${items}</ol></section>\n`;
  }

  private isMentioned(label: string): boolean {
    return this.finished.some(({ raw }) => raw.includes("[") && raw.replace(/\s+/g, " ").toLowerCase().includes(`[${label}`));
  }

  private finish(open: readonly Rendered[], shown: string, tail: string): void {
    const lengthOf = (blocks: readonly Rendered[]): number => blocks.reduce((sum, { raw }) => sum + raw.length, 0);
    if (lengthOf(open) !== shown.length) return; // the lexer dropped or added something: all stays open
    let last = open.length;
    for (let kept = 0; last > 0 && kept < OPEN_BLOCKS; ) if ((open[(last -= 1)] as Rendered).block) kept += 1;
    while (last > 0 && !isFinal(open[last - 1] as Rendered)) last -= 1;
    if (last === 0) return;
    const done = open.slice(0, last);
    const head = tail.slice(0, lengthOf(done));
    if (!shown.startsWith(head)) return;
    if (head.includes("]:")) this.finishedDefinitions = definitions(lex(head, false, this.finishedDefinitions));
    const notes = (done.at(-1) as Rendered).notes;
    this.finishedNotes = new Map([...this.scope.footnoteNumbers].slice(0, notes));
    this.finished.push(...done);
    this.base += head.length;
  }
}

/** Whether nothing appended can join that block. */
function isFinal({ type, raw }: Rendered): boolean {
  return FINAL.has(type) || (type === "code" && /^ {0,3}(?:`{3}|~{3})/.test(raw) && raw.endsWith("\n"));
}

/** Labels, in lower case, that mean something else than before. */
function changedLabels(before: Definitions, now: Definitions): string[] {
  const changed: string[] = [];
  for (const tag of new Set([...Object.keys(before.links), ...Object.keys(now.links)])) {
    const [old, current] = [before.links[tag], now.links[tag]];
    if (old?.href !== current?.href || old?.title !== current?.title) changed.push(tag.toLowerCase());
  }
  for (const key of new Set([...before.footnotes.keys(), ...now.footnotes.keys()])) {
    if (before.footnotes.has(key) !== now.footnotes.has(key)) changed.push(`^${key}`);
  }
  return changed;
}
