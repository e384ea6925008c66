// @vitest-environment jsdom
import { afterEach, describe, expect, it, vi } from "vitest";
import { signal } from "@preact/signals";
import { showControls, terminalLines, visibleText } from "../src/components/ansi";
import { changeOf, changeOfPatch, sideBySide, type Change } from "../src/components/changes";
import { copyImage, copyText, saveText } from "../src/components/clipboard";
import { ago, basename, between, bytes, count, duration, money, relativePath } from "../src/components/format";
import { fieldsOf, initialContent } from "../src/components/forms";
import { commandsOf, pickersOf, usageOf } from "../src/components/metadata";
import { watchTheme } from "../src/components/theme";
import { fuzzy, matchCommands } from "../src/composer/Commands";
import { highlight, knowsLanguage, languageOfPath, MAX_HIGHLIGHTED_CHARACTERS } from "../src/markdown/highlight";
import { extras, setLoader, wantExtras } from "../src/markdown/extras";
import { emptyScope } from "../src/markdown/grammar";
import { patchChildren } from "../src/markdown/patch";
import { repair } from "../src/markdown/repair";
import { toElements } from "../src/markdown/sanitise";
import { de } from "../src/strings/de";
import { en } from "../src/strings/en";
import { setLanguage, t, tOr } from "../src/strings";

afterEach(() => {
  vi.restoreAllMocks();
  setLanguage("en");
});

describe("terminal output", () => {
  const ESC = "\u001b";
  it.each([
    ["plain\ntwo", "plain\ntwo"],
    [" 10%\r 50%\r100%", "100%"],
    ["abcdef\rXY", "XYcdef"],
    ["abc\b\bX", "aXc"],
    [`abcdef\rXY${ESC}[K`, "XY"],
    [`abc${ESC}[2K`, "   "],
    [`abcdef\r${ESC}[1Kx`, "xbcdef"],
    [`${ESC}[31mred${ESC}[0m${ESC}[2J${ESC}[10;5Hx`, "redx"],
    [`${ESC}]0;title\u0007text${ESC}]8;;javascript:1${ESC}\\link${ESC}]8;;${ESC}\\`, "textlink"],
    [`${ESC}P1;2q data${ESC}\\after`, "after"],
    ["line\r\nnext\u0000\u0007", "line\nnext"],
    [`a${ESC}(Bb${ESC}7c`, "abc"],
  ])("draws %j as %j", (output, seen) => expect(visibleText(output)).toBe(seen));

  it("keeps colours of the palette, the cube, the greys and true colour", () => {
    const runs = terminalLines(`${ESC}[32mg${ESC}[0m ${ESC}[38;5;208mo${ESC}[0m ${ESC}[38;5;240mw${ESC}[0m ${ESC}[48;2;1;2;3mt${ESC}[0m ${ESC}[1;4;93my`)[0]!.filter((run) => run.text.trim());
    expect(runs.map((run) => [run.text, run.style, run.color, run.background])).toEqual([
      ["g", "acp-fg-ansi-green", null, null],
      ["o", "", "255, 135, 0", null],
      ["w", "", "88, 88, 88", null],
      ["t", "", null, "1, 2, 3"],
      ["y", "acp-fg-ansi-bright-yellow acp-ansi-bold acp-ansi-underline", null, null],
    ]);
  });

  it("keeps the colour of what an overwrite leaves", () => {
    const runs = terminalLines(`${ESC}[31mabcd${ESC}[0m\rXY`)[0]!;
    expect(runs.map((run) => [run.text, run.style])).toEqual([["XY", ""], ["cd", "acp-fg-ansi-red"]]);
  });

  it("shows control characters of text that is no terminal output", () => expect(showControls("a\u001b[1m\u007f\u0000\tb\n")).toBe("a␛[1m␡␀\tb\n"));
});

describe("changes", () => {
  const rows = (change: Change | null): string[] => change!.hunks.flatMap((hunk) => [...(hunk.skipped ? [`~${hunk.skipped}`] : []), ...hunk.rows.map((row) => `${row.before ?? ""}:${row.after ?? ""}${row.kind[0]}${row.pieces.map((piece) => (piece.changed ? `<${piece.text}>` : piece.text)).join("")}`)]);
  const numbered = (from: number, to: number): string => Array.from({ length: to - from + 1 }, (_, n) => `line ${from + n}\n`).join("");

  it("keeps three lines around a change and counts what is left out", () => {
    const change = changeOf(numbered(1, 20), numbered(1, 20).replace("line 12\n", "line 12 new\n"));
    expect(rows(change)).toEqual(["~8", "9:9sline 9", "10:10sline 10", "11:11sline 11", "12:rline 12", ":12aline 12< new>", "13:13sline 13", "14:14sline 14", "15:15sline 15"]);
    expect([change.added, change.removed]).toEqual([1, 1]);
  });
  it("shows a new file as added lines, equal texts as none", () => {
    expect(rows(changeOf(null, "a\nb\n"))).toEqual([":1aa", ":2ab"]);
    expect(changeOf("a\n", "a\n").hunks).toEqual([]);
  });
  it("marks no words in lines that have little in common or are very long", () => {
    expect(rows(changeOf("abc def\n", "xyz uvw\n"))).toEqual(["1:rabc def", ":1axyz uvw"]);
    expect(rows(changeOf(`${"a".repeat(700)} b\n`, `${"a".repeat(700)} c\n`)).join("")).not.toContain("<");
  });
  it("reads a unified patch, and says when it is none", () => {
    expect(rows(changeOfPatch("--- a\n+++ b\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n"))).toEqual(["1:1sone", "2:rtwo", ":2athree"]);
    expect(changeOfPatch("no patch")).toBeNull();
    expect(changeOfPatch("@@ -1,9 +1,9 @@\nbroken")).toBeNull();
  });
  it("puts what was removed beside what came for it", () => {
    const pairs = sideBySide(changeOf("a\nb\nc\n", "a\nx\ny\nc\n").hunks[0]!.rows);
    expect(pairs.map(([left, right]) => [left?.pieces[0]?.text ?? null, right?.pieces[0]?.text ?? null])).toEqual([["a", "a"], ["b", "x"], [null, "y"], ["c", "c"]]);
  });
});

describe("numbers and names", () => {
  it("writes them as people read them", () => {
    expect([duration(0.4), duration(61), duration(7260), duration(null), duration(Number.NaN)]).toEqual(["0 s", "1 min 1 s", "2 h 1 min", "", ""]);
    expect([between(1, 3), between(3, 1), between(null, 1)]).toEqual([2, null, null]);
    expect([count(950), count(12_300)]).toEqual(["950", "12.3K"]);
    expect([bytes(12), bytes(1500), bytes(2_345_678)]).toEqual(["12 B", "1.5 KB", "2.3 MB"]);
    expect([money({ amount: 0.4213, currency: "USD" }), money({ amount: 0.0123, currency: "USD" }), money({ amount: 1, currency: "credits" }), money({ amount: "1" }), money(null)]).toEqual(["$0.42", "$0.0123", "1.00", null, null]);
    expect([ago(100, 90), ago(0, 120), ago(0, 7200), ago(0, 200_000)]).toEqual(["just now", "2 min ago", "2 h ago", "2 d ago"]);
    expect([basename("/a/b/"), basename("C:\\x\\y"), relativePath("/w/a/b", "/w/a"), relativePath("/w/ab", "/w/a"), relativePath("x", "")]).toEqual(["b", "y", "b", "/w/ab", "x"]);
  });
  it("says everything in both languages", () => {
    expect(Object.keys(de)).toEqual(Object.keys(en));
    for (const [key, text] of Object.entries(en)) expect([...de[key as keyof typeof en].matchAll(/\{\w+\}/g)].map(String).sort(), key).toEqual([...text.matchAll(/\{\w+\}/g)].map(String).sort());
    setLanguage("de");
    expect([t("copy"), tOr("no.such", "so")]).toEqual(["Kopieren", "so"]);
    setLanguage("xx");
    expect(t("copy")).toBe("Copy");
  });
});

describe("metadata", () => {
  it("reads modes and options, groups and flat lists, and leaves out what is malformed", () => {
    const pickers = pickersOf({
      currentModeId: "odd", availableModes: [{ id: "a", name: "A" }, 7, { name: "no id" }],
      configOptions: [null, { id: "b", type: "boolean", currentValue: true }, { id: "s", currentValue: "x", options: [{ group: "g", name: "G", options: [{ value: "x" }, { value: 1 }] }] }, { id: "e", currentValue: "x", options: [] }, { name: "no id", currentValue: true }],
    });
    expect(pickers.map((picker) => [picker.kind, picker.id, picker.current])).toEqual([["select", "", "odd"], ["boolean", "b", true], ["select", "s", "x"]]);
    expect(pickers[0]).toMatchObject({ groups: [{ choices: [{ value: "a" }, { value: "odd", name: "odd" }] }] });
    expect(pickersOf({ currentModeId: "m", availableModes: [{ id: "m" }], configOptions: [{ id: "mode", category: "mode", currentValue: "m", options: [{ value: "m" }] }] }).map((picker) => picker.id)).toEqual(["mode"]);
  });
  it("gives commands one slash", () => expect(commandsOf({ availableCommands: [{ name: "a" }, { name: "//b", input: { hint: "h" } }, { name: "" }, { name: 3 }] })).toEqual([{ name: "/a", description: "", hint: null }, { name: "/b", description: "", hint: "h" }]));
  it("shows no share of a context that makes no sense", () => {
    expect(usageOf({ usage: { used: 5, size: 100, cost: null } })?.share).toBe(0.05);
    for (const usage of [{ used: 5, size: 0 }, { used: 905, size: 100 }, { used: "5", size: 9, cost: 1 }, { used: -1, size: 9, cost: 1 }]) expect(usageOf({ usage })?.share).toBeNull();
    expect(usageOf({ usage: {} })).toBeNull();
    expect(usageOf({})).toBeNull();
  });
  it("finds commands by letters in order, best first", () => {
    const named = (...names: string[]) => names.map((name) => ({ name, description: "", hint: null }));
    expect(matchCommands("/rt", named("/restart", "/run-tests", "/art")).map(({ name }) => name)).toEqual(["/art", "/run-tests", "/restart"].sort((a, b) => fuzzy("rt", b.slice(1))! - fuzzy("rt", a.slice(1))!));
    expect(matchCommands("/x y", named("/x"))).toEqual([]);
    expect(matchCommands("/zz", named("/x"))).toEqual([]);
    expect(fuzzy("", "abc")).toBe(0);
  });
});

describe("forms", () => {
  it("reads every kind of field, and what it does not know as text", () => {
    const fields = fieldsOf({
      required: ["s"],
      properties: { s: { type: "string", minLength: 2, maxLength: 4, format: "email" }, n: { type: "number", minimum: 1 }, i: { type: "integer", maximum: 9 }, b: { type: "boolean", default: true }, e: { enum: ["a", "b"], enumNames: ["A"] }, o: { oneOf: [{ const: "x", title: "X" }, { const: 1 }] }, m: { type: "array", items: { anyOf: [{ const: "p" }] } }, odd: { type: "object" }, bad: 3 },
    });
    expect(fields.map(({ name, kind, required }) => [name, kind, required])).toEqual([["s", "text", true], ["n", "number", false], ["i", "number", false], ["b", "boolean", false], ["e", "choice", false], ["o", "choice", false], ["m", "many", false], ["odd", "text", false], ["bad", "text", false]]);
    expect(fields[4]).toMatchObject({ choices: [{ value: "a", title: "A" }, { value: "b", title: "b" }] });
    expect(fields[0]).toMatchObject({ type: "email", min: 2, max: 4 });
    expect(initialContent(fields)).toEqual({ b: true });
    expect(fieldsOf({})).toEqual([]);
  });
});

describe("highlighting", () => {
  it("colours known languages, escapes others, and leaves long texts plain", () => {
    expect(highlight("x = '<'", "python")).toContain("hljs-string");
    expect(highlight("<b>", "no-such")).toBe("&lt;b&gt;");
    expect(highlight("x".repeat(MAX_HIGHLIGHTED_CHARACTERS + 1), "python")).not.toContain("hljs");
    expect([knowsLanguage("ipython3"), knowsLanguage("rust")]).toEqual([true, false]);
  });
  it("knows languages by file names", () => expect(["a.py", "b.TSX", "Makefile", "c.rs", "d.xyz"].map(languageOfPath)).toEqual(["python", "typescript", "", "rust", "xyz"]));
});

describe("sanitising", () => {
  it("gives one element a block, also when a block's own markup would end its wrapper", () => {
    expect(toElements(["<p>a</p>", "</div><p>b</p>"]).map((element) => element.outerHTML)).toEqual(['<div class="acp-block"><p>a</p></div>', '<div class="acp-block"><p>b</p></div>']);
  });
});

describe("lazy modules", () => {
  it("are fetched once, and asked for again a while after they could not be had", async () => {
    const now = vi.spyOn(performance, "now").mockReturnValue(1000);
    const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
    const asked: string[] = [];
    setLoader(async (name) => { asked.push(name); throw new Error("no kernel"); });
    const want = (): Promise<void> => { wantExtras({ ...emptyScope(), wants: { maths: true, languages: true } }); return new Promise((resolve) => setTimeout(resolve)); };
    await want();
    await want();
    expect(asked).toEqual(["maths", "languages"]);
    expect(warn).toHaveBeenCalledTimes(2);
    now.mockReturnValue(100_000);
    const typeset = (): string => "<math></math>";
    setLoader(async (name) => { asked.push(name); return name === "maths" ? { typeset } : { register: () => undefined }; });
    await want();
    await want();
    expect(asked).toEqual(["maths", "languages", "maths", "languages"]);
    expect([extras.typeset.value, extras.version.value]).toEqual([typeset, 2]);
  });
});

describe("patching", () => {
  const make = (html: string): HTMLElement => Object.assign(document.createElement("div"), { innerHTML: html });
  it("keeps nodes that can stay, and gives what the other has", () => {
    const target = make('<p class="a">one</p><ul><li>x</li></ul>gone<b>y</b>');
    const [paragraph, list, text] = [target.querySelector("p"), target.querySelector("ul"), target.querySelector("p")!.firstChild];
    paragraph!.setAttribute("data-local-wrap", "");
    patchChildren(target, make('<p dir="auto">one more</p><ul><li>z</li><li>w</li></ul>'));
    expect(target.innerHTML).toBe('<p data-local-wrap="" dir="auto">one more</p><ul><li>z</li><li>w</li></ul>');
    expect([target.querySelector("p"), target.querySelector("ul"), target.querySelector("p")!.firstChild]).toEqual([paragraph, list, text]);
    patchChildren(target, make("<h1>t</h1>"));
    expect(target.innerHTML).toBe("<h1>t</h1>");
  });
});

describe("the growing end", () => {
  it.each([
    ["a **bo", "a **bo**"], ["a **bo ", "a **bo** "], ["`co", "`co`"], ["``co`", "``co` ``"], ["~~x", "~~x~~"], ["*a **b", "*a **b***"], ["_x", "_x_"],
    ["snake_case", "snake_case"], ["2 * 3", "2 * 3"], ["a \\*b", "a \\*b"], ["done **x** y", "done **x** y"],
    ["text\n``", "text\n"], ["text\n- ", "text\n"], ["text\n##", "text\n"], ["# ", ""], ["a **", "a "], ["a `", "a "],
    ["```py\nx **y", "```py\nx **y"], ["```py\nx\n``", "```py\nx\n"], ["~~~\na\n```", "~~~\na\n```"], ["> ```\n> x\n> ```\nend *x", "> ```\n> x\n> ```\nend *x*"],
    ["para **a\n\nnext", "para **a\n\nnext"], ["    indented **x", "    indented **x"], ["- item **x", "- item **x**"],
  ])("shows %j as %j", (text, shown) => expect(repair(text)).toBe(shown));
});

describe("clipboard", () => {
  it("copies by a selection where the page may not write, and says when nothing worked", async () => {
    Object.assign(navigator, { clipboard: { writeText: async () => { throw new Error("denied"); } } });
    const exec = vi.fn(() => true);
    Object.assign(document, { execCommand: exec });
    expect(await copyText("x")).toBe(true);
    expect(exec).toHaveBeenCalledWith("copy");
    expect(document.querySelector("textarea")).toBeNull();
  });
  it("copies an image as an image", async () => {
    const write = vi.fn(async () => undefined);
    Object.assign(navigator, { clipboard: { write } });
    vi.stubGlobal("fetch", async () => ({ blob: async () => new Blob(["x"], { type: "image/png" }) }));
    vi.stubGlobal("ClipboardItem", class { constructor(readonly data: unknown) {} });
    expect(await copyImage("blob:x")).toBe(true);
    expect(write).toHaveBeenCalled();
    vi.stubGlobal("fetch", async () => { throw new Error("gone"); });
    expect(await copyImage("blob:x")).toBe(false);
    vi.unstubAllGlobals();
  });
  it("saves text under a name", () => {
    Object.assign(URL, { createObjectURL: () => "blob:1", revokeObjectURL: () => undefined });
    const click = vi.spyOn(HTMLAnchorElement.prototype, "click").mockImplementation(() => undefined);
    saveText("x", "a.txt");
    expect((click.mock.contexts[0] as HTMLAnchorElement).download).toBe("a.txt");
  });
});

describe("theme", () => {
  const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));
  it("is the trait's, else what the front end says, else that of the colours around", async () => {
    Object.assign(globalThis, { matchMedia: () => ({ matches: false }) });
    const around = document.body.appendChild(document.createElement("div"));
    const root = around.appendChild(document.createElement("div"));
    around.style.backgroundColor = "rgb(20, 20, 20)";
    const trait = signal("");
    const stop = watchTheme(root, trait);
    expect(root.dataset["theme"]).toBe("dark");
    for (const [set, expected] of [
      [() => { document.body.dataset["jpThemeLight"] = "true"; }, "light"],
      [() => { delete document.body.dataset["jpThemeLight"]; document.body.className = "vscode-dark"; }, "dark"],
      [() => { document.body.className = "vscode-light"; }, "light"],
      [() => { document.body.className = ""; document.documentElement.setAttribute("theme", "dark"); }, "dark"],
      [() => { document.documentElement.removeAttribute("theme"); document.documentElement.className = "dark"; }, "dark"],
      [() => { document.documentElement.className = ""; trait.value = "light"; }, "light"],
    ] as const) {
      set();
      await settled();
      expect(root.dataset["theme"]).toBe(expected);
    }
    stop();
    around.remove();
  });
});
