// Puts code into a new cell below the panel's own, where the front end lets a page do so: JupyterLab and
// Notebook 7 offer their commands to whoever finds the application. Elsewhere the code is copied.
import { copyText } from "./clipboard";

interface Commands { hasCommand(id: string): boolean; execute(id: string, args?: unknown): Promise<unknown> }
interface Cell { model: { sharedModel: { setSource(source: string): void } } }
interface Notebook { activeCell: Cell | null; activeCellIndex: number; widgets: { node: HTMLElement }[] }
interface Application { commands: Commands; shell: { currentWidget: { content?: Notebook } | null } }

function application(): Application | null {
  const page = window as unknown as Record<string, unknown>;
  const found = page["jupyterapp"] ?? page["jupyterlab"];
  return typeof found === "object" && found !== null && "commands" in found ? (found as Application) : null;
}

/** True when a cell was made; otherwise the code is in the clipboard. */
export async function insertCellBelow(root: HTMLElement, code: string): Promise<boolean> {
  const app = application();
  const notebook = app?.shell.currentWidget?.content;
  const own = notebook?.widgets?.findIndex((cell) => cell.node.contains(root)) ?? -1;
  if (!app || !notebook || own < 0 || !app.commands.hasCommand("notebook:insert-cell-below")) {
    await copyText(code);
    return false;
  }
  notebook.activeCellIndex = own;
  await app.commands.execute("notebook:insert-cell-below");
  notebook.activeCell?.model.sharedModel.setSource(code);
  return true;
}
