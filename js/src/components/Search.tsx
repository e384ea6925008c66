// Search within the conversation: marks by ranges, so that no node of the timeline is touched.
import type { JSX } from "preact";
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { t } from "../strings";
import { useLocal, usePanel } from "./context";
import { IconButton } from "./icons";

const MAX_MATCHES = 1000;

export function SearchButton(): JSX.Element {
  const open = useLocal("search", false);
  return <IconButton icon="search" label={t("search")} pressed={open.value} onClick={() => { open.value = !open.value; }} />;
}

function findRanges(root: Element, wanted: string): Range[] {
  const ranges: Range[] = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node && ranges.length < MAX_MATCHES; node = walker.nextNode()) {
    const text = (node as Text).data.toLowerCase();
    for (let at = text.indexOf(wanted); at !== -1 && ranges.length < MAX_MATCHES; at = text.indexOf(wanted, at + wanted.length)) {
      if (at + wanted.length > (node as Text).length) break; // lower case changed the length
      const range = document.createRange();
      range.setStart(node, at);
      range.setEnd(node, at + wanted.length);
      ranges.push(range);
    }
  }
  return ranges;
}

/** Paints ranges where the browser can; elsewhere the current one is selected. */
function paint(ranges: Range[], current: Range | undefined): void {
  if (!("highlights" in CSS)) return;
  CSS.highlights.set("acp-found", new Highlight(...ranges));
  if (current) CSS.highlights.set("acp-found-now", new Highlight(current));
  else CSS.highlights.delete("acp-found-now");
}

export function SearchBar(): JSX.Element | null {
  const open = useLocal("search", false);
  return open.value ? <OpenSearch close={() => { open.value = false; }} /> : null;
}

function OpenSearch({ close }: { close: () => void }): JSX.Element {
  const { store, root, follow, focusComposer } = usePanel();
  const query = useSignal("");
  const all = useLocal("all-groups", false);
  const index = useSignal(0);
  const field = useRef<HTMLInputElement>(null);
  const groups = store.groups.value;
  const area = root().querySelector(".acp-timeline");
  const wanted = query.value.toLowerCase();
  const ranges = wanted && area ? findRanges(area, wanted) : [];
  const at = ranges.length > 0 ? ((index.value % ranges.length) + ranges.length) % ranges.length : 0;
  useEffect(() => {
    all.value = true;
    field.current?.focus({ preventScroll: true });
    return () => paint([], undefined);
  }, []);
  useEffect(() => paint(ranges, ranges[at]), [wanted, at, groups]);
  const step = (by: number): void => {
    index.value = at + by;
    const range = ranges[(((at + by) % ranges.length) + ranges.length) % ranges.length];
    if (range?.startContainer.parentElement) follow.reveal(range.startContainer.parentElement, false);
  };
  return (
    <div class="acp-search" role="search">
      <input
        ref={field} class="acp-field" type="search" aria-label={t("search.label")} placeholder={t("search.label")} value={query.value}
        onInput={(event) => { query.value = event.currentTarget.value; index.value = 0; }}
        onKeyDown={(event) => {
          if (event.isComposing) return;
          if (event.key === "Enter") step(event.shiftKey ? -1 : index.peek() === 0 && at === 0 ? 0 : 1);
          else if (event.key === "Escape") {
            close();
            focusComposer();
          } else return;
          event.preventDefault();
          event.stopPropagation();
        }}
      />
      <span class="acp-muted acp-nowrap" role="status">{wanted && (ranges.length > 0 ? t("search.count", { index: at + 1, count: ranges.length }) : t("search.none"))}</span>
      <IconButton icon="up" label={t("search.previous")} onClick={() => step(-1)} />
      <IconButton icon="down" label={t("search.next")} onClick={() => step(1)} />
      <IconButton icon="cross" label={t("close")} onClick={close} />
    </div>
  );
}
