// Completion of the agent's slash commands.
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Command } from "../components/metadata";
import { t } from "../strings";

/** How well `typed` fits `name`: higher is better, null is not at all. Letters in order, starts of words first. */
export function fuzzy(typed: string, name: string): number | null {
  const [wanted, target] = [typed.toLowerCase(), name.toLowerCase()];
  if (wanted === "") return 0;
  const found = target.indexOf(wanted);
  if (found !== -1) return 1000 - found - target.length / 100;
  let [score, at] = [0, -1];
  for (const letter of wanted) {
    const next = target.indexOf(letter, at + 1);
    if (next === -1) return null;
    score += next === at + 1 ? 3 : /[-_:/ ]/.test(target[next - 1] ?? " ") ? 2 : 0;
    at = next;
  }
  return score - target.length / 100;
}

/** The commands that fit a draft of one word that begins with a slash, best first. */
export function matchCommands(draft: string, commands: readonly Command[]): Command[] {
  if (!/^\/\S*$/.test(draft)) return [];
  const typed = draft.slice(1);
  const scored = commands.flatMap((command) => {
    const score = fuzzy(typed, command.name.slice(1));
    return score === null ? [] : [{ command, score }];
  });
  return scored.sort((one, other) => other.score - one.score).map(({ command }) => command);
}

export function CommandMenu({ matches, at, pick }: { matches: readonly Command[]; at: number; pick: (index: number) => void }): JSX.Element {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const [box, row] = [list.current, list.current?.children[at] as HTMLElement | undefined];
    if (!box || !row) return;
    if (row.offsetTop < box.scrollTop) box.scrollTop = row.offsetTop;
    else if (row.offsetTop + row.offsetHeight > box.scrollTop + box.clientHeight) box.scrollTop = row.offsetTop + row.offsetHeight - box.clientHeight;
  }, [at, matches]);
  return (
    <div class="acp-commands" id="acp-commands" role="listbox" aria-label={t("commands.label")} ref={list}>
      {matches.map((command, index) => (
        <div
          key={command.name} id={`acp-command-${index}`} role="option" aria-selected={index === at} class="acp-command-row"
          onPointerDown={(event) => { event.preventDefault(); pick(index); }}
        >
          <span class="acp-command-name">{command.name}</span>
          {command.hint && <span class="acp-command-hint">{command.hint}</span>}
          <span class="acp-muted acp-one-line" dir="auto">{command.description}</span>
        </div>
      ))}
    </div>
  );
}
