// Literal output: a terminal's with colours, a file's with its control characters to be seen. Long ones
// show their tail and give the rest on demand; copying always takes the whole.
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Part } from "../messages";
import { t } from "../strings";
import { showControls, terminalLines, type Line } from "./ansi";
import { copyText, saveText } from "./clipboard";
import { useLocal, usePanel } from "./context";
import { bytes } from "./format";
import { nextFrame } from "./frames";
import { IconButton } from "./icons";

const TAIL_LINES = 2000;
const MORE_LINES = 5000;
/** Above this many characters only the end is looked at for the tail. */
const TAIL_CHARACTERS = 1_000_000;

function drawLine(line: Line): JSX.Element[] {
  return line.map(({ text, style, color, background }, index) => {
    if (!style && !color && !background) return <>{text}</>;
    const css = { color: color ? `rgb(${color})` : undefined, backgroundColor: background ? `rgb(${background})` : undefined };
    return <span key={index} class={style || undefined} style={css}>{text}</span>;
  });
}

function countLines(text: string): number {
  let lines = 1;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) lines += 1;
  return lines;
}

/** The last `count` lines of `text`. */
function tailOf(text: string, count: number): string {
  let at = text.length;
  for (let seen = 0; seen < count; seen += 1) {
    at = text.lastIndexOf("\n", at - 1);
    if (at <= 0) return text;
  }
  return text.slice(at + 1);
}

interface LinesProps { text: string; terminal: boolean; name: string }

/** Lines of text in a box with its own scroll. */
export function Lines({ text, terminal, name }: LinesProps): JSX.Element {
  const { say } = usePanel();
  const shown = useLocal(`lines:${name}`, TAIL_LINES);
  const trimmed = text.endsWith("\n") ? text.slice(0, -1) : text;
  const total = useMemo(() => countLines(trimmed), [trimmed]);
  const tail = useMemo(() => {
    const near = shown.value <= TAIL_LINES && trimmed.length > TAIL_CHARACTERS ? trimmed.slice(-TAIL_CHARACTERS) : trimmed;
    return tailOf(near, shown.value);
  }, [trimmed, shown.value]);
  const visible = useMemo(() => countLines(tail), [tail]);
  const body = useMemo(() => {
    if (!terminal) return showControls(tail);
    const lines = terminalLines(tail);
    return lines.flatMap((line, index) => [...drawLine(line), index < lines.length - 1 ? "\n" : ""]);
  }, [tail, terminal]);
  const box = useRef<HTMLPreElement>(null);
  useEffect(() => {
    // Running output is read at its end.
    if (box.current && terminal && box.current.dataset["localTouched"] === undefined) box.current.scrollTop = box.current.scrollHeight;
  }, [tail]);
  const earlier = total - visible;
  return (
    <div class="acp-lines">
      {earlier > 0 && (
        <button type="button" class="acp-link-button" onClick={() => { shown.value += MORE_LINES; }}>
          {t("terminal.earlier", { count: Math.min(earlier, MORE_LINES) })} <span class="acp-muted">· {t("terminal.all", { count: total })}</span>
        </button>
      )}
      <pre
        ref={box} dir="ltr" tabIndex={0} class={terminal ? "acp-terminal" : ""}
        onWheel={() => { if (box.current) box.current.dataset["localTouched"] = ""; }}
      >{trimmed === "" ? <span class="acp-muted">{t("text.empty")}</span> : body}</pre>
      <div class="acp-corner">
        {total > 200 && <IconButton icon="save" label={t("text.download")} onClick={() => saveText(text, `${name.replace(/\W+/g, "-")}.txt`)} />}
        <IconButton icon="copy" label={t("copy.all")} onClick={async () => say(t((await copyText(text)) ? "copied" : "copy"))} />
      </div>
    </div>
  );
}

interface GrowingProps { id: string; part: number; terminal: boolean; version: unknown; deferred?: Part["deferred"] }

/** The text of a part that may grow, and the rest of it when only its head travelled. */
export function GrowingText({ id, part, terminal, version, deferred }: GrowingProps): JSX.Element {
  const { store, attempt } = usePanel();
  const [, redraw] = useState(0);
  const whole = useLocal<string | null>(`whole:${id}/${part}`, null);
  useEffect(() => {
    let cancel: (() => void) | null = null;
    const off = store.onAppend(id, part, () => {
      cancel ??= nextFrame(() => { cancel = null; redraw((n) => n + 1); });
    });
    return () => { off(); cancel?.(); };
  }, [id, part, version]);
  const ref = deferred?.["text"] ?? deferred?.["output"];
  return (
    <>
      <Lines text={whole.value ?? store.text(id, part)} terminal={terminal} name={`${id}/${part}`} />
      {ref && whole.value === null && (
        <button type="button" class="acp-link-button" onClick={() => attempt(async () => { whole.value = await store.deferred(ref); })}>
          {t("text.whole", { size: bytes(ref.size) })}
        </button>
      )}
    </>
  );
}
