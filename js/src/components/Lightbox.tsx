// An enlarged image over the panel. Escape, a click, or its button close it; focus goes back.
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { t } from "../strings";
import { usePanel, type Panel } from "./context";
import { IconButton } from "./icons";

interface Shown { url: string; label: string; from: HTMLElement | null }
const shown = new WeakMap<Panel, ReturnType<typeof signal<Shown | null>>>();

function shownIn(panel: Panel): ReturnType<typeof signal<Shown | null>> {
  let own = shown.get(panel);
  if (!own) shown.set(panel, (own = signal<Shown | null>(null)));
  return own;
}

export function showLightbox(panel: Panel, url: string, label: string, from: HTMLElement | null): void {
  shownIn(panel).value = { url, label, from };
}

export function Lightbox(): JSX.Element | null {
  const panel = usePanel();
  const own = shownIn(panel);
  const box = useRef<HTMLDivElement>(null);
  const image = own.value;
  useEffect(() => { if (image) box.current?.focus({ preventScroll: true }); }, [image]);
  if (!image) return null;
  const close = (): void => {
    own.value = null;
    image.from?.focus({ preventScroll: true });
  };
  return (
    <div
      ref={box} class="acp-lightbox" role="dialog" aria-modal="true" aria-label={image.label} tabIndex={-1} onClick={close}
      onKeyDown={(event) => {
        if (event.key !== "Escape" && event.key !== "Enter") return;
        event.preventDefault();
        event.stopPropagation();
        close();
      }}
    >
      <img src={image.url} alt={image.label} />
      <IconButton icon="cross" label={t("close")} onClick={close} />
    </div>
  );
}
