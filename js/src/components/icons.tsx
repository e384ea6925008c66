// Line icons on a 16 x 16 grid, drawn in the colour of the text around them.
import type { JSX } from "preact";

const PATHS = {
  read: "M3 2.5h6l4 4v7H3zM9 2.5v4h4M5.5 9h5M5.5 11h3.5",
  edit: "M10.8 2.7l2.5 2.5-7.6 7.6-3.2.7.7-3.2zM9.3 4.2l2.5 2.5",
  delete: "M3 4.5h10M6.5 4.5v-2h3v2M4.5 4.5l.6 9h5.8l.6-9",
  move: "M2.5 8h10M9 4.5L12.5 8 9 11.5",
  search: "M7 2.5a4.5 4.5 0 100 9 4.5 4.5 0 000-9zM10.3 10.3L14 14",
  execute: "M2.5 4l3.5 4-3.5 4M7.5 12.5h6",
  think: "M8 2.2a4 4 0 00-2.4 7.2c.5.4.7.8.7 1.3h3.4c0-.5.2-.9.7-1.3A4 4 0 008 2.2zM6.5 13.2h3",
  fetch: "M8 2a6 6 0 100 12A6 6 0 008 2zM2.3 6h11.4M2.3 10h11.4M8 2c-3.3 3.6-3.3 8.4 0 12M8 2c3.3 3.6 3.3 8.4 0 12",
  switch_mode: "M3 5h8.5M9 2.5L11.5 5 9 7.5M13 11H4.5M7 8.5L4.5 11 7 13.5",
  other: "M9.7 6.3l3.8-3.8M13.7 5a3.4 3.4 0 01-4.5 3.2l-4.6 4.6a1.5 1.5 0 01-2.1-2.1l4.6-4.6A3.4 3.4 0 0111 2.3",
  chevron: "M6 4l4 4-4 4",
  down: "M4 6l4 4 4-4",
  check: "M3 8.5l3.2 3.2L13 4.8",
  cross: "M4 4l8 8M12 4l-8 8",
  stopped: "M8 2.2a5.8 5.8 0 100 11.6A5.8 5.8 0 008 2.2zM4 12L12 4",
  circle: "M8 3a5 5 0 100 10A5 5 0 008 3z",
  send: "M8 13V3.5M4 7.2L8 3.2l4 4",
  copy: "M5.5 5.5h7v8h-7zM3.5 10.5v-8h7",
  menu: "M3 4.5h10M3 8h10M3 11.5h10",
  list: "M6 4h7M6 8h7M6 12h7M3 4h.01M3 8h.01M3 12h.01",
  history: "M2.8 8a5.2 5.2 0 105.2-5.2A5.2 5.2 0 003.4 5.6M3 2.8v3h3M8 5.2V8l2 1.4",
  plan: "M2.5 4l1.2 1.2L6 3M2.5 11l1.2 1.2L6 10M8 4.2h5.5M8 11.2h5.5",
  warning: "M8 2.5L14.2 13H1.8zM8 6.5v3M8 11.2v.1",
  info: "M8 2.2a5.8 5.8 0 100 11.6A5.8 5.8 0 008 2.2zM8 7.2v3.6M8 5v.1",
  shield: "M8 2l5 1.8v3.7c0 3-2 5.2-5 6.5-3-1.3-5-3.5-5-6.5V3.8z",
  file: "M4 2.5h5l3 3v8H4zM9 2.5v3h3",
  link: "M6.5 9.5l3-3M7.5 4.8l1.4-1.4a2.6 2.6 0 013.7 3.7l-1.4 1.4M8.5 11.2l-1.4 1.4a2.6 2.6 0 01-3.7-3.7l1.4-1.4",
  save: "M8 2.5v7M5 7l3 3 3-3M3 13.5h10",
  split: "M2.5 3h11v10h-11zM8 3v10",
  unified: "M2.5 3h11v10h-11zM2.5 8h11",
  up: "M4 10l4-4 4 4",
  plus: "M8 3v10M3 8h10",
  branch: "M5 3.5v9M5 8.5c0-2 6-1 6-4M5 2.6v.1M11 2.8v.1M5 13.4v.1",
  stop: "",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }): JSX.Element {
  return (
    <svg class="acp-icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
      {name === "stop" ? <rect x="4" y="4" width="8" height="8" rx="1.5" fill="currentColor" /> : <path d={PATHS[name]} />}
    </svg>
  );
}

export const isIcon = (name: string): name is IconName => name in PATHS;

interface ButtonProps {
  icon: IconName;
  label: string;
  onClick: (event: MouseEvent) => void;
  class?: string;
  pressed?: boolean;
  disabled?: boolean;
  expanded?: boolean;
}

/** A square button that is an icon to see and a sentence to hear. */
export function IconButton({ icon, label, onClick, pressed, disabled, expanded, ...rest }: ButtonProps): JSX.Element {
  return (
    <button
      type="button" class={`acp-icon-button ${rest.class ?? ""}`} title={label} aria-label={label} aria-pressed={pressed}
      aria-expanded={expanded} aria-disabled={disabled} onClick={(event) => (disabled ? undefined : onClick(event))}
    >
      <Icon name={icon} />
    </button>
  );
}
