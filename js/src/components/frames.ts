// Work that the next frame is soon enough for, each piece once. A hidden page has no frames: a timer then.
const HIDDEN_MS = 250;
const due = new Set<() => void>();
let asked = false;

function run(): void {
  asked = false;
  const now = [...due];
  due.clear();
  for (const work of now) work();
}

export function nextFrame(work: () => void): () => void {
  due.add(work);
  if (!asked) {
    asked = true;
    if (document.hidden) setTimeout(run, HIDDEN_MS);
    else requestAnimationFrame(run);
  }
  return () => due.delete(work);
}
