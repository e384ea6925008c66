// When a tool card is open by itself. Open while it runs; folded one second after it ended in front of the
// reader; folded at once when it ended before; open for ever when no result came. A hand's word wins.
import { useEffect } from "preact/hooks";
import type { Signal } from "@preact/signals";
import type { ToolCall } from "../messages";
import { useLocal } from "./context";

export const FOLD_AFTER_MS = 1000;

export const isOpenCall = (call: ToolCall): boolean =>
  call.noResult === true || !["completed", "failed", "cancelled"].includes(call.status);

/** Whether the reader could have seen it end: it is live and did not end long ago. */
function endedJustNow(call: ToolCall): boolean {
  if (call.historical) return false;
  return call.endedAt === null || Date.now() / 1000 - call.endedAt < FOLD_AFTER_MS / 1000 + 1;
}

export interface Fold {
  open: boolean;
  toggle(): void;
}

/** The fold of a card; `quiet` cards (a permission shows their details) stay shut unless opened by hand. */
export function useFold(call: ToolCall, quiet: boolean): Fold {
  const byHand = useLocal<boolean | null>(`card:${call.id}`, null);
  const auto: Signal<boolean> = useLocal(`card-auto:${call.id}`, isOpenCall(call) || endedJustNow(call));
  const running = isOpenCall(call);
  useEffect(() => {
    if (running) {
      auto.value = true;
      return undefined;
    }
    if (!auto.peek()) {
      // Details that come late are shown, then folded like the others.
      if (!endedJustNow(call)) return undefined;
      auto.value = true;
    }
    const timer = setTimeout(() => { auto.value = false; }, FOLD_AFTER_MS);
    return () => clearTimeout(timer);
  }, [running, call.outputParts.length, call.rawOutput === null, call.error]);
  const open = byHand.value ?? (auto.value && !quiet);
  return { open, toggle: () => { byHand.value = !open; } };
}
