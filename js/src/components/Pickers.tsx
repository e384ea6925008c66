// The agent's modes and options as small pickers in the header.
import type { JSX } from "preact";
import { useSignal } from "@preact/signals";
import { t } from "../strings";
import { usePanel, useStore } from "./context";
import { Icon } from "./icons";
import { pickersOf, type BooleanPicker, type SelectPicker } from "./metadata";
import { Popover } from "./Popover";

const FILTER_FROM = 10;

export function Pickers(): JSX.Element {
  const pickers = pickersOf(useStore().meta.metadata.value);
  return (
    <span class="acp-pickers">
      {pickers.map((picker) => (picker.kind === "select" ? <Select key={picker.id} picker={picker} /> : <Toggle key={picker.id} picker={picker} />))}
    </span>
  );
}

function Toggle({ picker }: { picker: BooleanPicker }): JSX.Element {
  const { act } = usePanel();
  return (
    <button
      type="button" class="acp-picker" role="switch" aria-checked={picker.current}
      onClick={() => act({ kind: "set-option", optionId: picker.id, value: !picker.current })}
    >{picker.name}: {t(picker.current ? "option.on" : "option.off")}</button>
  );
}

function Select({ picker }: { picker: SelectPicker }): JSX.Element {
  const current = picker.groups.flatMap((group) => group.choices).find((choice) => choice.value === picker.current);
  const label = picker.name || t("mode");
  return (
    <Popover name={`picker:${picker.id}`} class="acp-picker" label={`${label}: ${current?.name ?? picker.current}`} button={<><span class="acp-picker-name">{current?.name ?? picker.current}</span><Icon name="down" /></>}>
      {(close) => <Choices picker={picker} close={close} />}
    </Popover>
  );
}

function Choices({ picker, close }: { picker: SelectPicker; close: () => void }): JSX.Element {
  const { act } = usePanel();
  const filter = useSignal("");
  const count = picker.groups.reduce((sum, group) => sum + group.choices.length, 0);
  const wanted = filter.value.trim().toLowerCase();
  const fits = (name: string): boolean => wanted.split(/\s+/).every((word) => name.toLowerCase().includes(word));
  const groups = picker.groups.map((group) => ({ ...group, choices: group.choices.filter((choice) => fits(`${group.name ?? ""} ${choice.name} ${choice.value}`)) })).filter((group) => group.choices.length > 0);
  const choose = (value: string): void => {
    if (value !== picker.current) act(picker.id === "" ? { kind: "set-mode", modeId: value } : { kind: "set-option", optionId: picker.id, value });
    close();
  };
  return (
    <>
      <div class="acp-menu-title">{picker.name || t("mode")}</div>
      {count >= FILTER_FROM && (
        <input
          class="acp-field acp-menu-filter" type="search" autofocus placeholder={t("picker.filter")} aria-label={t("picker.filter")} value={filter.value}
          onInput={(event) => { filter.value = event.currentTarget.value; }}
          onKeyDown={(event) => {
            const first = groups[0]?.choices[0];
            if (event.key === "Enter" && !event.isComposing && first) choose(first.value);
          }}
        />
      )}
      <div role="listbox" aria-label={picker.name || t("mode")} class="acp-menu-list">
        {groups.map((group, index) => (
          <div key={index} role="group" aria-label={group.name ?? undefined}>
            {group.name && <div class="acp-menu-group">{group.name}</div>}
            {group.choices.map((choice) => (
              <button key={choice.value} type="button" role="option" class="acp-menu-item" aria-selected={choice.value === picker.current} onClick={() => choose(choice.value)}>
                <span class="acp-menu-check">{choice.value === picker.current && <Icon name="check" />}</span>
                <span class="acp-menu-text">{choice.name}{choice.description && <small>{choice.description}</small>}</span>
              </button>
            ))}
          </div>
        ))}
        {groups.length === 0 && <div class="acp-muted acp-menu-none">{t("picker.none")}</div>}
      </div>
    </>
  );
}
