// What a terminal's bytes look like once drawn: lines of coloured runs. Carriage returns and backspaces
// overwrite, erase codes erase, all other control sequences are gone.
import Anser, { type AnserJsonEntry } from "anser";

export interface Run {
  text: string;
  /** Class names of colour and weight; "" for plain text. */
  style: string;
  /** Colours beyond the sixteen named ones, as `r, g, b`. */
  color: string | null;
  background: string | null;
}
export type Line = readonly Run[];

// OSC (titles, links), DCS and friends, two-byte escapes, and every CSI but `m` (colours) and `K` (erase).
const NOISE = /\x1b\][^\x07\x1b]*(?:\x07|\x1b\\|$)|\x1b[PX^_][\s\S]*?(?:\x1b\\|$)|\x1b\[[0-?]*[ -/]*(?![mK])[@-~]|\x1b[ -/]*[0-Z\\^-~]|\x1b(?!\[)|[\x00-\x07\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]/g;
const MOVES = /[\r\b]|\x1b\[[0-2]?K/;

const plain = (text: string): Run => ({ text, style: "", color: null, background: null });

function toRun(entry: AnserJsonEntry): Run {
  const classes: string[] = [];
  const named = (color: string | null, kind: string): string | null => {
    if (!color) return null;
    const name = /^ansi-(?:bright-)?(?:black|red|green|yellow|blue|magenta|cyan|white)$/.exec(color)?.[0];
    if (name) classes.push(`acp-${kind}-${name}`);
    return name ? null : color;
  };
  const fg = named(entry.fg, "fg");
  const bg = named(entry.bg, "bg");
  for (const decoration of entry.decorations ?? []) classes.push(`acp-ansi-${decoration}`);
  const triple = (color: string | null, truecolor: string | undefined): string | null => {
    if (!color) return null;
    if (color === "ansi-truecolor") return truecolor ?? null;
    const index = /^ansi-palette-(\d+)$/.exec(color)?.[1];
    return index === undefined ? null : palette(Number(index));
  };
  return {
    text: entry.content, style: classes.join(" "),
    color: triple(fg, entry.fg_truecolor), background: triple(bg, entry.bg_truecolor),
  };
}

/** The 256-colour cube and its greys as `r, g, b`. */
function palette(index: number): string {
  if (index >= 232) return Array(3).fill(8 + (index - 232) * 10).join(", ");
  const level = (step: number): number => (step === 0 ? 0 : 55 + step * 40);
  const at = index - 16;
  return [level(Math.floor(at / 36)), level(Math.floor(at / 6) % 6), level(at % 6)].join(", ");
}

/** Draws the overwriting of one line, cell by cell. */
function overwrite(runs: Line): Line {
  const cells: { sign: string; run: Run }[] = [];
  let column = 0;
  for (const run of runs) {
    for (const piece of run.text.split(/([\r\b]|\x1b\[[0-2]?K)/)) {
      if (piece === "\r") column = 0;
      else if (piece === "\b") column = Math.max(0, column - 1);
      else if (piece.startsWith("\x1b[")) {
        if (piece[2] === "2") cells.fill({ sign: " ", run: plain("") });
        else if (piece[2] === "1") cells.fill({ sign: " ", run: plain("") }, 0, column + 1);
        else cells.length = Math.min(cells.length, column);
      } else for (const sign of piece) {
        while (cells.length < column) cells.push({ sign: " ", run: plain("") });
        cells[column++] = { sign, run };
      }
    }
  }
  const drawn: Run[] = [];
  let last: Run | null = null;
  for (const { sign, run } of cells) {
    if (run === last) (drawn.at(-1) as Run).text += sign;
    else drawn.push({ ...run, text: sign });
    last = run;
  }
  return drawn;
}

/** The lines of terminal output. */
export function terminalLines(output: string): Line[] {
  if (!/[\x00-\x08\x0b-\x1f\x7f]/.test(output)) return output.split("\n").map((text) => [plain(text)]);
  const clean = output.replace(/\r\n/g, "\n").replace(NOISE, "");
  const lines: Run[][] = [[]];
  // Anser knows colours only and would eat erase codes: they pass as signs that no text has.
  const guarded = clean.replace(/\x1b\[([0-2]?)K/g, (_, how: string) => String.fromCharCode(0xfdd0 + Number(how || "0")));
  for (const entry of Anser.ansiToJson(guarded, { use_classes: true, remove_empty: true })) {
    const run = toRun(entry);
    run.text.split("\n").forEach((text, index) => {
      if (index > 0) lines.push([]);
      if (text) (lines.at(-1) as Run[]).push({ ...run, text: text.replace(/[\ufdd0-\ufdd2]/g, (sign) => `\x1b[${sign.charCodeAt(0) - 0xfdd0}K`) });
    });
  }
  return lines.map((line) => (line.some(({ text }) => MOVES.test(text)) ? overwrite(line) : line));
}

/** What can be read of terminal output, without colours. */
export const visibleText = (output: string): string =>
  terminalLines(output).map((line) => line.map(({ text }) => text).join("")).join("\n");

/** Text that is no terminal output, with control characters to be seen instead of acting. */
export const showControls = (text: string): string =>
  text.replace(/[\x00-\x08\x0b\x0c\x0e-\x1f]/g, (sign) => String.fromCharCode(0x2400 + sign.charCodeAt(0))).replace(/\x7f/g, "\u2421");
