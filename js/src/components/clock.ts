// One clock for all that counts seconds; it runs only while somebody looks at it.
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

const now = signal(Date.now() / 1000);
let watchers = 0;
let timer: ReturnType<typeof setInterval> | undefined;

/** Seconds since the epoch, renewed every second while `active`. */
export function useNow(active: boolean): number {
  useEffect(() => {
    if (!active) return undefined;
    now.value = Date.now() / 1000;
    watchers += 1;
    timer ??= setInterval(() => { now.value = Date.now() / 1000; }, 1000);
    return () => {
      watchers -= 1;
      if (watchers > 0) return;
      clearInterval(timer);
      timer = undefined;
    };
  }, [active]);
  return active ? now.value : now.peek();
}
