// @vitest-environment jsdom
import { afterEach, expect, it } from "vitest";
import { Scene } from "../dev/scenes";
import { chunks } from "./cases";
import { show, type Shown } from "./panel";

let shown: Shown | null = null;
afterEach(() => {
  shown?.close();
  shown = null;
});

/** Streams the case's text into a running turn and looks after each chunk; gives the settled message. */
async function stream(name: string, eachPrefix: (message: HTMLElement) => void = () => undefined): Promise<HTMLElement> {
  const scene = new Scene().ask("hello").say("").running();
  const id = scene.view.items.at(-1)!.id;
  scene.meta({ streamingSegments: [id] });
  const own = (shown = await show(scene.view));
  const message = own.root.querySelector<HTMLElement>(".acp-message")!;
  for (const text of chunks(name)) {
    own.model.ops([{ op: "append", id, part: 0, text }]);
    await own.settle();
    eachPrefix(message);
  }
  own.model.ops([{ op: "meta", fields: { streamingSegments: [], status: "idle", runningSince: null } }, { op: "turns", from: 0, turns: [{ ...scene.view.turns[0], state: "idle", stopReason: "end_turn" }] }]);
  await own.settle();
  return message;
}
const codes = (message: Element): string[] => [...message.querySelectorAll("pre code")].map((code) => code.textContent!.replace(/\n$/, ""));
const prose = (message: Element): string => {
  const copy = message.cloneNode(true) as Element;
  for (const code of copy.querySelectorAll("figure, .acp-maths")) code.remove();
  return copy.textContent!;
};

it("156-longer-fence-ok: a longer fence shows the inner fence lines in one block", async () => {
  const message = await stream("156-longer-fence-ok");
  expect(codes(message)).toEqual(["```bash\nls\n```"]);
  expect(prose(message)).toContain("end");
});

it("157-fence-forming: no backtick is shown that later vanishes, and the code card stays the same node", async () => {
  let card: Element | null = null;
  const message = await stream("157-fence-forming", (now) => {
    expect(prose(now)).not.toContain("`");
    for (const code of codes(now)) expect(code).not.toContain("`");
    const seen = now.querySelector("figure");
    if (card) expect(seen).toBe(card);
    card = seen;
  });
  expect(codes(message)).toEqual(["let x = 1"]);
  expect(message.querySelector("figure")?.dataset["language"]).toBe("swift");
  expect(prose(message)).toContain("Done.");
});

it("159-tilde-inside-backticks: a tilde line does not close a backtick fence", async () => {
  const message = await stream("159-tilde-inside-backticks");
  expect(codes(message)).toEqual(["code 1\n~~~\ncode 2"]);
  expect(prose(message)).toMatch(/before[\s\S]*after/);
});

it("160-midline-backticks: backticks inside a line of code close nothing", async () => {
  const message = await stream("160-midline-backticks");
  expect(codes(message)).toEqual(["(?<!\\n)(?:```[^\\n]*|%%[ \\t]*(?:\\n|$))"]);
  expect(message.querySelector("strong")?.textContent).toBe("bold");
  expect(message.textContent).not.toContain("</strong>");
});

it("162-real-math-kept: formulas in brackets and double signs are typeset", async () => {
  const message = await stream("162-real-math-kept");
  await shown!.settle();
  expect(message.querySelectorAll("math").length).toBe(3);
  expect(message.textContent).not.toContain("\\(");
});

it("163-math-while-streaming: half a formula throws nothing and swallows nothing", async () => {
  const message = await stream("163-math-while-streaming", (now) => {
    for (const formula of now.querySelectorAll(".acp-maths")) expect(formula.textContent).not.toMatch(/and|end/);
  });
  await shown!.settle();
  expect(message.querySelectorAll("math").length).toBe(2);
  expect(prose(message)).toContain("end");
});

it("165-raw-html-injection: raw HTML is shown as text", async () => {
  const message = await stream("165-raw-html-injection");
  expect(message.querySelectorAll("iframe, form, style, img, [style]").length).toBe(0);
  expect(message.textContent).toContain("<iframe");
  expect(message.textContent).toContain("text");
  expect((window as unknown as Record<string, unknown>)["__pwned"]).toBeUndefined();
});

it("166-html-split-over-chunks: a tag that is whole only after joining stays text", async () => {
  const message = await stream("166-html-split-over-chunks", (now) => expect(now.querySelectorAll("img, a").length).toBe(0));
  expect(message.textContent).toContain("done");
});

it("168-table-streams: a growing table is one table, with no row of raw pipes beside it", async () => {
  let known = false;
  const message = await stream("168-table-streams", (now) => {
    const tables = now.querySelectorAll("table").length;
    expect(tables).toBeLessThanOrEqual(1);
    known ||= tables === 1;
    if (known) expect(now.textContent).not.toContain("|");
  });
  expect(message.querySelectorAll("tr").length).toBe(3);
  expect([...message.querySelectorAll("td")].map((cell) => cell.textContent)).toEqual(["apple", "3", "pear", "1"]);
  expect(prose(message)).toContain("Total 4");
});

it("169-pipe-line-is-not-table: a line that begins with a pipe is text", async () => {
  const message = await stream("169-pipe-line-is-not-table");
  expect(message.textContent).toContain("| grep foo");
  expect(message.querySelector("table")).toBeNull();
});

it("171-no-raw-rendered-strobe: what is a heading or bold once is never shown raw again", async () => {
  const message = await stream("171-no-raw-rendered-strobe", (now) => {
    expect(now.textContent).not.toMatch(/# Heading|\*\*|`/);
  });
  expect(message.querySelector("h1")?.textContent).toBe("Heading");
  expect([...message.querySelectorAll("li")].map((item) => item.textContent?.trim())).toEqual(["a", "b"]);
});
