// The flat JSON schema of an elicitation as fields to fill in. What is not understood is a text field.
export interface Choice { value: string; title: string }
interface Base { name: string; title: string; description: string; required: boolean; initial: unknown }
export type Field = Base & (
  | { kind: "text"; type: "text" | "email" | "url" | "date" | "datetime-local"; min?: number; max?: number; pattern?: string }
  | { kind: "number"; whole: boolean; min?: number; max?: number }
  | { kind: "boolean" }
  | { kind: "choice"; choices: Choice[] }
  | { kind: "many"; choices: Choice[] }
);

type Schema = Record<string, unknown>;
const object = (value: unknown): Schema => (typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Schema) : {});
const number = (value: unknown): number | undefined => (typeof value === "number" && Number.isFinite(value) ? value : undefined);
const FORMATS: Record<string, "email" | "url" | "date" | "datetime-local"> = { email: "email", uri: "url", date: "date", "date-time": "datetime-local" };

/** `oneOf`/`anyOf` of constants with titles, or an `enum` with optional `enumNames`. */
function choicesOf(schema: Schema): Choice[] {
  const titled = schema["oneOf"] ?? schema["anyOf"];
  if (Array.isArray(titled)) {
    return titled.map(object).flatMap((one) => (typeof one["const"] === "string" ? [{ value: one["const"], title: typeof one["title"] === "string" ? one["title"] : one["const"] }] : []));
  }
  const names = Array.isArray(schema["enumNames"]) ? (schema["enumNames"] as unknown[]) : [];
  return Array.isArray(schema["enum"])
    ? schema["enum"].flatMap((value, at) => (typeof value === "string" ? [{ value, title: typeof names[at] === "string" ? (names[at] as string) : value }] : []))
    : [];
}

function fieldOf(name: string, schema: Schema, required: boolean): Field {
  const base: Base = {
    name, required, initial: schema["default"],
    title: typeof schema["title"] === "string" ? schema["title"] : name,
    description: typeof schema["description"] === "string" ? schema["description"] : "",
  };
  switch (schema["type"]) {
    case "boolean": return { ...base, kind: "boolean", initial: schema["default"] === true };
    case "integer":
    case "number": return { ...base, kind: "number", whole: schema["type"] === "integer", min: number(schema["minimum"]), max: number(schema["maximum"]) };
    case "array": return { ...base, kind: "many", choices: choicesOf(object(schema["items"])) };
  }
  const choices = choicesOf(schema);
  if (choices.length > 0) return { ...base, kind: "choice", choices };
  const pattern = typeof schema["pattern"] === "string" ? schema["pattern"] : undefined;
  return { ...base, kind: "text", type: FORMATS[String(schema["format"])] ?? "text", min: number(schema["minLength"]), max: number(schema["maxLength"]), pattern };
}

export function fieldsOf(schema: Schema): Field[] {
  const required = Array.isArray(schema["required"]) ? (schema["required"] as unknown[]) : [];
  return Object.entries(object(schema["properties"])).map(([name, one]) => fieldOf(name, object(one), required.includes(name)));
}

export function initialContent(fields: readonly Field[]): Record<string, unknown> {
  return Object.fromEntries(fields.filter((field) => field.initial !== undefined).map((field) => [field.name, field.initial]));
}
