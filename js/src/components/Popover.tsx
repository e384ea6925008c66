// A small surface that hangs on its button. One is open at a time in a panel; Escape and a click outside
// close it and give the focus back to its button.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { useLocal, usePanel } from "./context";

interface Props {
  name: string;
  label: string;
  /** The look of the button; `class` styles it. */
  button: ComponentChildren;
  class?: string;
  /** Which way it opens. */
  up?: boolean;
  disabled?: boolean;
  children: (close: () => void) => ComponentChildren;
}

export function Popover({ name, label, button, up, disabled, children, ...rest }: Props): JSX.Element {
  const { root } = usePanel();
  const shown = useLocal<string | null>("popover", null);
  const open = shown.value === name;
  const trigger = useRef<HTMLButtonElement>(null);
  const surface = useRef<HTMLDivElement>(null);
  const close = (): void => {
    if (shown.peek() === name) shown.value = null;
    trigger.current?.focus({ preventScroll: true });
  };
  useEffect(() => {
    if (!open) return undefined;
    const outside = (event: Event): void => {
      const target = event.target as Node;
      if (!surface.current?.contains(target) && !trigger.current?.contains(target)) shown.value = null;
    };
    document.addEventListener("pointerdown", outside, true);
    const first = surface.current?.querySelector<HTMLElement>("[autofocus], [aria-selected=true], [aria-checked=true], input, button, a, select, textarea");
    (first ?? surface.current)?.focus({ preventScroll: true });
    return () => document.removeEventListener("pointerdown", outside, true);
  }, [open]);
  useLayoutEffect(() => {
    const box = surface.current;
    if (!open || !box) return;
    // Stay inside the panel: shift sideways, and be no higher than there is room.
    const panel = root().getBoundingClientRect();
    const own = box.getBoundingClientRect();
    const shift = Math.min(0, panel.right - 8 - own.right) || Math.max(0, panel.left + 8 - own.left);
    box.style.translate = `${shift}px 0`;
    const room = up ? own.bottom - panel.top : panel.bottom - own.top;
    box.style.maxHeight = `${Math.max(120, room - 12)}px`;
  }, [open]);
  return (
    <span class="acp-anchor">
      <button
        ref={trigger} type="button" class={rest.class ?? "acp-icon-button"} title={label} aria-label={label} aria-haspopup="true" aria-expanded={open}
        aria-disabled={disabled} onClick={() => { if (!disabled) shown.value = open ? null : name; }}
      >{button}</button>
      {open && (
        <div
          ref={surface} class={`acp-popover ${up ? "acp-popover-up" : ""}`} role="dialog" aria-label={label} tabIndex={-1}
          onKeyDown={(event) => {
            if (event.key === "Escape") {
              event.preventDefault();
              event.stopPropagation();
              close();
            } else if (event.key === "ArrowDown" || event.key === "ArrowUp") moveFocus(event, event.key === "ArrowDown" ? 1 : -1);
          }}
        >{children(close)}</div>
      )}
    </span>
  );
}

/** Arrow keys walk through the buttons of a surface. */
function moveFocus(event: KeyboardEvent, step: number): void {
  const box = event.currentTarget as HTMLElement;
  if (event.target instanceof HTMLTextAreaElement || event.target instanceof HTMLSelectElement) return;
  const stops = [...box.querySelectorAll<HTMLElement>("input:not([type=checkbox]), button:not([disabled])")];
  const at = stops.indexOf(document.activeElement as HTMLElement);
  stops[(at + step + stops.length) % stops.length]?.focus({ preventScroll: false });
  event.preventDefault();
}
