// One growing Markdown text as a list of rendered blocks.
//
// Rules. Finished blocks are lexed and rendered once. The last three blocks stay open, because what is
// appended can still change them; the cut lies only behind a token that ends by itself (blank line,
// heading, rule, closed fence), so that lexing from there gives what a full parse gives. A link or
// footnote definition that comes later takes the cut back to the start if a finished block mentions it.
// A block whose HTML did not change is the same object.
import type { Token } from "marked";
import { definitions, emptyScope, lex, lexBlocks, NO_DEFINITIONS, render, type Definitions, type Lexed, type RenderScope } from "./grammar";
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
  private open: readonly Rendered[] = [];
  private finishedNotes = new Map<string, number>();
  private finishedDefinitions = NO_DEFINITIONS;
  private known = NO_DEFINITIONS;
  private finishedBlocks: Block[] = [];
  private blocks: readonly Block[] = [];
  /** How many blocks at the head of the last answer were finished before it: they have not changed. */
  settled = 0;
  readonly scope: RenderScope = emptyScope();

  /** The blocks of `text`. While `streaming`, half-typed constructs at its end are shown as what they will be. */
  update(text: string, streaming = false): readonly Block[] {
    const clean = text.includes("\r") ? text.replace(/\r\n?/g, "\n") : text;
    // Equality compares many characters at once, `startsWith` one by one: at 100 KB that was half of the cost.
    if (clean.slice(0, this.base) !== this.text.slice(0, this.base)) this.forget();
    this.text = clean;
    const tail = clean.slice(this.base);
    const shown = streaming ? repair(tail) : tail;
    const lexed = lexBlocks(shown, streaming, this.finishedDefinitions);
    const before = this.known;
    this.known = definitions(lexed.tokens);
    const changed = changedLabels(before, this.known);
    if (this.base > 0 && changed.some((label) => this.isMentioned(label))) {
      this.forget();
      return this.update(text, streaming);
    }
    if (changed.length > 0) this.open = [];
    const open = this.renderOpen(lexed);
    const tailBlocks = open.flatMap(({ block }) => (block ? [block] : []));
    const notes = this.renderFootnotes();
    if (notes) tailBlocks.push({ html: notes });
    const shownBefore = this.blocks;
    const done = this.finishedBlocks;
    this.blocks = done.concat(tailBlocks.map((block, index) => {
      const old = shownBefore[done.length + index];
      return old?.html === block.html ? old : block;
    }));
    this.settled = done.length;
    this.finish(open, shown, tail);
    return this.blocks;
  }

  /** Renders everything anew at the next update: the maths library came, an image was asked for. */
  forget(): void {
    this.base = 0;
    this.finished = [];
    this.finishedBlocks = [];
    this.finishedNotes = new Map();
    this.finishedDefinitions = NO_DEFINITIONS;
    this.open = [];
  }

  private renderOpen({ tokens, lexInline }: Lexed): Rendered[] {
    const grouped: Token[][] = [];
    for (const token of tokens) {
      const last = grouped.at(-1);
      // Neighbouring text tokens are one paragraph to the renderer.
      if (token.type === "text" && last?.[0]?.type === "text") last.push(token);
      else grouped.push([token]);
    }
    const raws = grouped.map((group) => group.map((token) => token.raw).join(""));
    // Blocks before the last that say what they said are kept; the last one may have been shown as growing.
    let same = 0;
    while (same < Math.min(this.open.length, raws.length) - 1 && this.open[same]?.raw === raws[same] && this.open[same]?.type === grouped[same]?.[0]?.type) same += 1;
    const kept = this.open.slice(0, same);
    this.scope.footnoteNumbers = same > 0 ? firstOf(this.scope.footnoteNumbers, (kept.at(-1) as Rendered).notes) : new Map(this.finishedNotes);
    const fresh = grouped.slice(same).map((group, index) => {
      const type = group[0]?.type ?? "";
      group.forEach(lexInline);
      const html = type === "space" ? "" : render(group, this.scope);
      return { type, raw: raws[same + index] as string, block: html ? { html } : null, notes: this.scope.footnoteNumbers.size };
    });
    return [...kept, ...fresh];
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
    this.open = open;
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
    this.finishedNotes = firstOf(this.scope.footnoteNumbers, notes);
    this.finished.push(...done);
    this.finishedBlocks = this.blocks.slice(0, this.settled + done.filter(({ block }) => block).length);
    this.open = open.slice(last);
    this.base += head.length;
  }
}

const firstOf = (numbers: ReadonlyMap<string, number>, count: number): Map<string, number> => new Map([...numbers].slice(0, count));

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
