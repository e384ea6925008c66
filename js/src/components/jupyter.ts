// Puts code into a new cell below the panel's own, where the front end lets a page do so; elsewhere it is copied.
import { copyText } from "./clipboard";

interface Commands { hasCommand(id: string): boolean; execute(id: string, args?: unknown): Promise<unknown> }
interface Cell { model: { sharedModel: { setSource(source: string): void } } }
interface Notebook { activeCell: Cell | null; activeCellIndex: number; widgets: { node: HTMLElement }[] }
interface Application { commands: Commands; shell: { currentWidget: { content?: Notebook } | null } }

async function insertByApplication(root: HTMLElement, code: string): Promise<boolean> {
  const app = application();
  const notebook = app?.shell.currentWidget?.content;
  const own = notebook?.widgets?.findIndex((cell) => cell.node.contains(root)) ?? -1;
  if (!app || !notebook || own < 0 || !app.commands.hasCommand("notebook:insert-cell-below")) return false;
  notebook.activeCellIndex = own;
  await app.commands.execute("notebook:insert-cell-below");
  notebook.activeCell?.model.sharedModel.setSource(code);
  return true;
}

function application(): Application | null {
  const page = window as unknown as Record<string, unknown>;
  const found = page["jupyterapp"] ?? page["jupyterlab"];
  return typeof found === "object" && found !== null && "commands" in found ? (found as Application) : null;
}

/** JupyterLab and Notebook 7 keep their application to themselves by default; the cell's own toolbar is there. */
async function insertByToolbar(root: HTMLElement, code: string): Promise<boolean> {
  const cell = root.closest(".jp-Cell");
  const notebook = cell?.closest(".jp-Notebook");
  if (!cell || !notebook) return false;
  // A click into the panel has made its cell the active one, which alone has a toolbar.
  const button = cell.querySelector<HTMLElement>("[data-command='notebook:insert-cell-below']");
  if (!button) return false;
  const before = new Set(notebook.querySelectorAll(".jp-Cell"));
  button.click();
  for (let tries = 0; tries < 40; tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, 25));
    const editor = [...notebook.querySelectorAll(".jp-Cell")].find((one) => !before.has(one))?.querySelector<HTMLElement>(".cm-content");
    if (!editor) continue;
    editor.focus({ preventScroll: true });
    return document.execCommand("insertText", false, code);
  }
  return false;
}

/** True when a cell was made; otherwise the code is in the clipboard. */
export async function insertCellBelow(root: HTMLElement, code: string): Promise<boolean> {
  if ((await insertByApplication(root, code)) || (await insertByToolbar(root, code))) return true;
  await copyText(code);
  return false;
}
