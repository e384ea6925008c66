// What the page costs, beside the cheapest thing that could work. Driven by tests/benches/bench_page.py.
import { Marked, marked } from "marked";
import { mount } from "../src/components/mount";
import { MarkdownDocument } from "../src/markdown/document";
import type { Item, View } from "../src/messages";
import { partsOf } from "../src/store";
import { Wire } from "../src/wire";
import { SceneModel } from "./model";
import { scene } from "./scenes";

const textOf = (item: Item): string => partsOf(item).map((part) => (part.kind === "markdown" ? part.text : "")).join("\n");
const frame = (): Promise<void> => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))));

/** Plain elements of all items in one fragment, `content-visibility` on each. */
function plain(view: View): HTMLElement {
  const root = document.createElement("div");
  root.style.cssText = "height:600px;overflow:auto";
  const fragment = document.createDocumentFragment();
  for (const item of view.items) {
    const node = document.createElement(item.kind === "tool-call" ? "details" : "article");
    node.style.cssText = "content-visibility:auto;contain-intrinsic-size:auto 120px;margin:8px 0";
    if (item.kind === "tool-call") {
      const [summary, pre] = [document.createElement("summary"), document.createElement("pre")];
      summary.textContent = item.title;
      pre.textContent = textOf(item);
      node.append(summary, pre);
    } else node.innerHTML = marked.parse(textOf(item)) as string; // our own scene
    fragment.append(node);
  }
  root.append(fragment);
  document.body.append(root);
  root.scrollTop = root.scrollHeight;
  void root.offsetHeight;
  return root;
}

function open(view: View): { host: HTMLElement; model: SceneModel; ready: Promise<void>; close: () => void } {
  const model = new SceneModel(view, { height: "600px", theme: "light", saved: "" });
  const wire = new Wire(model);
  const { store } = wire.openView();
  const host = document.body.appendChild(document.createElement("div"));
  const unmount = mount(host, store);
  const ready = (async () => {
    while (store.connection.peek() !== "live") await Promise.resolve();
    await Promise.resolve();
  })();
  return { host, model, ready, close: () => { unmount(); wire.dispose(); host.remove(); } };
}

async function opening(): Promise<{ plain: number; shown: number; whole: number }> {
  const view = scene("thousands");
  let start = performance.now();
  plain(view).remove();
  const base = performance.now() - start;
  await frame();
  start = performance.now();
  const own = open(view);
  const wanted = view.groups.length;
  const count = (): number => own.host.querySelectorAll(".acp-group").length;
  while (count() === 0) await new Promise((done) => setTimeout(done));
  void own.host.offsetHeight;
  const shown = performance.now() - start;
  while (count() < wanted) await new Promise((done) => setTimeout(done, 5));
  const whole = performance.now() - start;
  own.close();
  await frame();
  return { plain: base, shown, whole };
}

async function delta(rounds: number): Promise<{ rebuild: number; ours: number; kept: boolean }> {
  const view = scene("thousands");
  const list = document.body.appendChild(document.createElement("div"));
  const html = (): string => view.items.map((item) => (item.kind === "tool-call" ? `<details><summary>${item.title}</summary><pre>${textOf(item)}</pre></details>` : `<article>${marked.parse(textOf(item)) as string}</article>`)).join("");
  let start = performance.now();
  for (let n = 0; n < 3; n += 1) {
    list.innerHTML = html(); // our own scene
    void list.offsetHeight;
  }
  const rebuild = (performance.now() - start) / 3;
  list.remove();
  view.turns.at(-1)!.state = "running";
  const last = view.items.findLast((item) => item.kind === "message-segment")!.id;
  view.meta.streamingSegments = [last];
  const own = open(view);
  await own.ready;
  while (own.host.querySelectorAll(".acp-group").length < view.groups.length) await new Promise((done) => setTimeout(done, 5));
  await frame();
  const before = [...own.host.querySelectorAll(".acp-timeline *")];
  let spent = 0;
  for (let n = 0; n < rounds; n += 1) {
    await new Promise<void>((done) => {
      // Three callbacks of one frame, in this order: the clock, the drawing that the op asks for, the layout.
      let begun = 0;
      requestAnimationFrame(() => { begun = performance.now(); });
      const sent = performance.now();
      own.model.ops([{ op: "append", id: last, part: 0, text: " word" }]);
      spent += performance.now() - sent;
      requestAnimationFrame(() => {
        void own.host.offsetHeight;
        spent += performance.now() - begun;
        done();
      });
    });
  }
  const now = new Set(own.host.querySelectorAll(".acp-timeline *"));
  const kept = before.filter((node) => !now.has(node)).length <= 3;
  own.close();
  return { rebuild, ours: spent / rounds, kept };
}

function stream(): { full: number; ours: number } {
  const paragraph = "Some **bold** words with `code`, a [link](https://example.org) and more text to fill the line.\n\n- one\n- two\n\n```python\nx = 1\n```\n\n";
  const text = paragraph.repeat(Math.ceil(100_000 / paragraph.length)).slice(0, 100_000);
  const parser = new Marked({ gfm: true });
  parser.parse(text);
  let start = performance.now();
  for (let n = 0; n < 3; n += 1) parser.parse(text);
  const full = (performance.now() - start) / 3;
  const grow = (size: number): number => {
    const growing = new MarkdownDocument();
    start = performance.now();
    for (let end = 96; end < size + 96; end += 96) growing.update(text.slice(0, end), true);
    return performance.now() - start;
  };
  grow(20_000); // as warm as the parser is
  return { full, ours: grow(text.length) };
}

/** Deltas come at `rate` a second for `seconds`, flushed at most 30 times a second: the longest frame, in ms. */
async function load(rate: number, seconds: number): Promise<number> {
  const view = scene("stream");
  const own = open(view);
  await own.ready;
  const id = view.items.at(-1)!.id;
  let longest = 0;
  let last = performance.now();
  const end = last + seconds * 1000;
  let sent = 0;
  const start = last;
  while (performance.now() < end) {
    await new Promise<void>((done) => requestAnimationFrame(() => done()));
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    const due = Math.floor(((now - start) / 1000) * rate) - sent;
    if (due > 0) own.model.ops([{ op: "append", id, part: 0, text: "twelve chars".repeat(due) + (sent % 7 ? "" : "\n\n") }]);
    sent += Math.max(0, due);
  }
  own.close();
  return longest;
}

export const bench = { opening, delta, stream, load };
