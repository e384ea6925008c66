// Modes and options of a session, read from what the agent sent; anything malformed is left out.
export interface Choice { value: string; name: string; description: string | null }
export interface ChoiceGroup { name: string | null; choices: Choice[] }
export interface SelectPicker { kind: "select"; id: string; name: string; category: string | null; current: string; groups: ChoiceGroup[] }
export interface BooleanPicker { kind: "boolean"; id: string; name: string; category: string | null; current: boolean }
export type Picker = SelectPicker | BooleanPicker;

type Fields = Record<string, unknown>;
const fields = (value: unknown): Fields | null => (typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : null);
const list = (value: unknown): Fields[] => (Array.isArray(value) ? value.map(fields).filter((one) => one !== null) : []);
const text = (value: unknown): string | null => (typeof value === "string" && value !== "" ? value : null);

function choice(option: Fields, key: string): Choice | null {
  const value = text(option[key]);
  return value === null ? null : { value, name: text(option["name"]) ?? value, description: text(option["description"]) };
}
const choices = (options: unknown, key: string): Choice[] => list(options).map((one) => choice(one, key)).filter((one) => one !== null);

function groupsOf(options: unknown): ChoiceGroup[] {
  const flat: Choice[] = [];
  const groups: ChoiceGroup[] = [];
  for (const option of list(options)) {
    if (Array.isArray(option["options"])) groups.push({ name: text(option["name"]) ?? text(option["group"]), choices: choices(option["options"], "value") });
    else {
      const one = choice(option, "value");
      if (one) flat.push(one);
    }
  }
  return flat.length > 0 ? [{ name: null, choices: flat }, ...groups] : groups;
}

/** The session's mode as a picker: `id` "" stands for session/set_mode. */
function modePicker(metadata: Fields): SelectPicker | null {
  const modes = choices(metadata["availableModes"], "id");
  const current = text(metadata["currentModeId"]);
  if (current === null || modes.length === 0) return null;
  // An agent may switch to a mode that it never announced.
  const known = modes.some((mode) => mode.value === current);
  return { kind: "select", id: "", name: "", category: "mode", current, groups: [{ name: null, choices: known ? modes : [...modes, { value: current, name: current, description: null }] }] };
}

export function pickersOf(metadata: Fields): Picker[] {
  const found: Picker[] = [];
  for (const option of list(metadata["configOptions"])) {
    const id = text(option["id"]);
    if (id === null) continue;
    const name = text(option["name"]) ?? id;
    const category = text(option["category"]);
    const current = option["currentValue"];
    if (typeof current === "boolean") found.push({ kind: "boolean", id, name, category, current });
    else if (typeof current === "string") {
      const groups = groupsOf(option["options"]);
      if (groups.length > 0) found.push({ kind: "select", id, name, category, current, groups });
    }
  }
  const mode = found.some((picker) => picker.category === "mode") ? null : modePicker(metadata);
  return mode ? [mode, ...found] : found;
}

export interface Command { name: string; description: string; hint: string | null }

/** Slash commands with exactly one slash, whatever the agent wrote. */
export function commandsOf(metadata: Fields): Command[] {
  return list(metadata["availableCommands"]).flatMap((command) => {
    const name = text(command["name"])?.replace(/^\/+/, "").trim();
    if (!name) return [];
    return [{ name: `/${name}`, description: text(command["description"]) ?? "", hint: text(fields(command["input"])?.["hint"]) }];
  });
}

export interface Usage { used: number | null; size: number | null; share: number | null; cost: unknown }

/** How full the context is; no share when the size is unknown or makes no sense. */
export function usageOf(metadata: Fields): Usage | null {
  const usage = fields(metadata["usage"]);
  if (!usage) return null;
  const number = (value: unknown): number | null => (typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : null);
  const [used, size] = [number(usage["used"]), number(usage["size"])];
  const share = used !== null && size !== null && size > 0 && used <= size ? used / size : null;
  const cost = usage["cost"] ?? null;
  return used === null && cost === null ? null : { used, size: size && size > 0 ? size : null, share, cost };
}
