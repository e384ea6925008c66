// A change of a file: unified or side by side, line numbers, words that differ; big ones folded.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { Part } from "../messages";
import { t } from "../strings";
import { showControls } from "./ansi";
import { changeOf, changeOfPatch, sideBySide, type Change, type Row } from "./changes";
import { copyText } from "./clipboard";
import { useLocal, usePanel, useStore } from "./context";
import { bytes, relativePath } from "./format";
import { IconButton } from "./icons";
import { Lines } from "./Text";

const FOLD_ROWS = 200;
const SIGNS = { same: " ", removed: "−", added: "+" };

function LineText({ row }: { row: Row }): JSX.Element {
  return (
    <>
      {row.pieces.map(({ text, changed }, index) => (changed ? <mark key={index}>{showControls(text)}</mark> : <span key={index}>{showControls(text)}</span>))}
    </>
  );
}

function Unified({ change }: { change: Change }): JSX.Element {
  return (
    <table class="acp-diff-table">
      {change.hunks.map((hunk, index) => (
        <tbody key={index}>
          {hunk.skipped > 0 && <Skipped count={hunk.skipped} columns={4} />}
          {hunk.rows.map((row, at) => (
            <tr key={at} class={`acp-diff-${row.kind}`}>
              <td class="acp-diff-number">{row.before}</td>
              <td class="acp-diff-number">{row.after}</td>
              <td class="acp-diff-sign" aria-label={row.kind === "same" ? undefined : row.kind}>{SIGNS[row.kind]}</td>
              <td class="acp-diff-text"><LineText row={row} /></td>
            </tr>
          ))}
        </tbody>
      ))}
    </table>
  );
}

function Split({ change }: { change: Change }): JSX.Element {
  const half = (row: Row | null, side: "before" | "after"): JSX.Element => {
    const kind = row && row.kind !== "same" ? `acp-diff-${row.kind}` : row ? "" : "acp-diff-gap";
    return (
      <>
        <td class={`acp-diff-number ${kind}`}>{row?.[side]}</td>
        <td class={`acp-diff-text ${kind}`}>{row && <LineText row={row} />}</td>
      </>
    );
  };
  return (
    <table class="acp-diff-table acp-diff-split">
      <colgroup><col class="acp-diff-col" /><col /><col class="acp-diff-col" /><col /></colgroup>
      {change.hunks.map((hunk, index) => (
        <tbody key={index}>
          {hunk.skipped > 0 && <Skipped count={hunk.skipped} columns={4} />}
          {sideBySide(hunk.rows).map(([left, right], at) => <tr key={at}>{half(left, "before")}{half(right, "after")}</tr>)}
        </tbody>
      ))}
    </table>
  );
}

const Skipped = ({ count, columns }: { count: number; columns: number }): JSX.Element => (
  <tr class="acp-diff-skipped"><td colSpan={columns}>⋯ {t("diff.unchanged", { count })}</td></tr>
);

type DiffPart = Extract<Part, { kind: "diff" }>;

export function Diff({ part, name }: { part: DiffPart; name: string }): JSX.Element {
  const store = useStore();
  const { say, attempt } = usePanel();
  const split = useLocal("diff-split", false);
  const whole = useLocal<Record<string, string>>(`diff-whole:${name}`, {});
  const deferred = Object.entries(part.deferred ?? {});
  const missing = deferred.filter(([field]) => !(field in whole.value));
  const full = { ...part, ...whole.value } as DiffPart;
  const change = useMemo(
    () => ("patch" in full ? changeOfPatch(full.patch) : changeOf(full.oldText, full.newText)),
    [part, whole.value],
  );
  const rows = change?.hunks.reduce((sum, hunk) => sum + hunk.rows.length, 0) ?? 0;
  const unfolded = useLocal(`diff-open:${name}`, false);
  const path = full.path ?? ("changes" in full ? full.changes.map((one) => one.path).join(", ") : "");
  const isNew = "newText" in full && full.oldText === null;
  const copy = async (): Promise<void> => say(t((await copyText("patch" in full ? full.patch : full.newText)) ? "copied" : "copy"));
  const load = async (): Promise<void> => {
    const texts = await Promise.all(missing.map(async ([field, ref]) => [field, await store.deferred(ref)] as const));
    whole.value = { ...whole.value, ...Object.fromEntries(texts) };
  };
  return (
    <div class="acp-diff" dir="ltr">
      <div class="acp-diff-head">
        <span class="acp-diff-path" title={path}>{relativePath(path, store.meta.cwd.value)}</span>
        {isNew && <span class="acp-muted">{t("diff.new")}</span>}
        {change && change.added > 0 && <span class="acp-diff-plus">+{change.added}</span>}
        {change && change.removed > 0 && <span class="acp-diff-minus">−{change.removed}</span>}
        <span class="acp-grow" />
        <IconButton class="acp-diff-toggle" icon={split.value ? "unified" : "split"} label={t(split.value ? "diff.unified" : "diff.split")} onClick={() => { split.value = !split.value; }} />
        <IconButton icon="copy" label={t("copy")} onClick={() => void copy()} />
      </div>
      {missing.length > 0 ? (
        <button type="button" class="acp-link-button" onClick={() => attempt(load)}>
          {t("text.whole", { size: bytes(missing.reduce((sum, [, ref]) => sum + ref.size, 0)) })}
        </button>
      ) : !change ? (
        <Lines text={"patch" in full ? full.patch : full.newText} terminal={false} name={name} />
      ) : rows === 0 ? (
        <div class="acp-diff-none acp-muted" title={t("diff.none.title")}>{t("diff.none")}</div>
      ) : rows > FOLD_ROWS && !unfolded.value ? (
        <button type="button" class="acp-link-button" onClick={() => { unfolded.value = true; }}>{t("diff.show", { count: rows })}</button>
      ) : (
        <div class="acp-diff-body" tabIndex={0}>{split.value ? <Split change={change} /> : <Unified change={change} />}</div>
      )}
    </div>
  );
}
