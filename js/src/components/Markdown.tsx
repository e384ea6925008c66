// Markdown that may still be growing. Preact holds the outer element only; inside, blocks are plain DOM:
// a finished block is never touched again, the open ones are patched once a frame.
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { useSignalEffect } from "@preact/signals";
import { MarkdownDocument, type Block } from "../markdown/document";
import { extras, wantExtras } from "../markdown/extras";
import { patchChildren } from "../markdown/patch";
import { toElements } from "../markdown/sanitise";
import { usePanel } from "./context";
import { nextFrame } from "./frames";

/** A parse may take at most this share of the time between two parses. */
const REST_FACTOR = 3;
const CHEAP_MS = 6;

class LiveMarkdown {
  readonly source = new MarkdownDocument();
  private blocks: readonly Block[] = [];
  private restUntil = 0;
  private cancel: (() => void) | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly root: HTMLElement, private readonly read: () => { text: string; streaming: boolean }) {}

  soon(): void {
    if (this.cancel || this.timer !== undefined) return;
    const wait = this.restUntil - performance.now();
    if (wait > 16) this.timer = setTimeout(() => { this.timer = undefined; this.soon(); }, wait);
    else this.cancel = nextFrame(() => { this.cancel = null; this.draw(); });
  }

  draw(): void {
    const start = performance.now();
    const { text, streaming } = this.read();
    const { scope } = this.source;
    scope.typeset = extras.typeset.peek();
    const next = this.source.update(text, streaming);
    const changed: number[] = [];
    for (let index = Math.min(this.source.settled, this.blocks.length); index < next.length; index += 1) {
      if (index >= this.root.childElementCount || this.blocks[index] !== next[index]) changed.push(index);
    }
    const fresh = toElements(changed.map((index) => (next[index] as Block).html));
    changed.forEach((index, at) => {
      const shown = this.root.children[index];
      if (shown) patchChildren(shown, fresh[at] as Element);
      else this.root.append(fresh[at] as Element);
    });
    while (this.root.children.length > next.length) this.root.lastElementChild?.remove();
    this.blocks = next;
    wantExtras(scope);
    this.root.toggleAttribute("data-streaming", streaming);
    const took = performance.now() - start;
    this.restUntil = took > CHEAP_MS ? performance.now() + took * REST_FACTOR : 0;
  }

  stop(): void {
    this.cancel?.();
    clearTimeout(this.timer);
  }
}

interface Props {
  /** Text that does not grow. */
  text?: string;
  /** Or where the growing text is: item and part. */
  id?: string;
  part?: number;
  streaming?: boolean;
  /** The part object: another one means another text. */
  version?: unknown;
}

export function Markdown({ text, id, part = 0, streaming = false, version }: Props): JSX.Element {
  const { store } = usePanel();
  const element = useRef<HTMLDivElement>(null);
  const live = useRef<LiveMarkdown | null>(null);
  const now = useRef({ text, streaming });
  now.current = { text, streaming };
  useLayoutEffect(() => {
    const read = (): { text: string; streaming: boolean } => ({
      text: id === undefined ? (now.current.text ?? "") : store.text(id, part),
      streaming: now.current.streaming,
    });
    const own = new LiveMarkdown(element.current as HTMLElement, read);
    live.current = own;
    const off = id === undefined ? undefined : store.onAppend(id, part, () => own.soon());
    return () => { off?.(); own.stop(); };
  }, [id, part, store]);
  useLayoutEffect(() => live.current?.draw(), [id, part, text, streaming, version]);
  useSignalEffect(() => {
    if (extras.version.value === 0) return;
    live.current?.source.forget();
    live.current?.draw();
  });
  useEffect(() => {
    const own = live.current;
    const onLoad = (event: Event): void => {
      own?.source.scope.allowedImages.add((event as CustomEvent<string>).detail);
      own?.source.forget();
      own?.draw();
    };
    const host = element.current;
    host?.addEventListener("acp-load-image", onLoad);
    return () => host?.removeEventListener("acp-load-image", onLoad);
  }, [id, part]);
  return <div class="acp-markdown" ref={element} />;
}
