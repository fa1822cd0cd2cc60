/**
 * Form fields by JSON Schema. A draft has the text that was typed, by field; `readFields` makes the
 * body of it. So nothing that was typed is lost, not even what cannot be sent.
 */

import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { html, joinClasses } from "console/html.js";
import { renderName, resolve } from "console/catalog.js";
import { parseJson } from "console/format.js";
import { hasGroup } from "console/session.js";

/**
 * @typedef {import("console/catalog.js").Schema} Schema
 * @typedef {Record<string, string | boolean>} Draft
 * @typedef {{name: string, schema: Schema}} FormField
 */

const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?(e[+-]?\d+)?$/i;
const NEEDED = "This is needed: enter a value.";

/**
 * What is typed into a filter, and how to set it. It becomes the value after a pause.
 * @param {any} value
 * @param {(typed: any) => void} onChange
 * @param {number} delay in milliseconds
 * @returns {[any, (typed: any) => void]}
 */
export function useTyped(value, onChange, delay) {
  const [typed, setTyped] = useState(value);
  // In the layout phase: an effect runs after the paint, and what was typed since would be lost.
  useLayoutEffect(() => setTyped(value), [value]);
  useEffect(() => {
    const timer = setTimeout(() => typed === value || onChange(typed), delay);
    return () => clearTimeout(timer);
  }, [typed]);
  return [typed, setTyped];
}

/**
 * The fields of a form. A value that its input would change is entered as JSON: a list with line
 * breaks in an entry, say. So what was not touched is never sent changed.
 * @param {Schema} body
 * @param {Record<string, any>} [stored] without: a form of a new item
 * @returns {FormField[]}
 */
export function listFields(body, stored) {
  return Object.entries(body.properties ?? {}).map(([name, described]) => {
    const resolved = resolve(described);
    const value = stored ? stored[name] : resolved.default;
    const schema = { ...resolved, breaks: String(value).includes("\r\n") ? "\r\n" : "\n" };
    return { name, schema: { ...schema, isJson: !isKept(value, schema) } };
  });
}

/** @param {any} value @param {Schema} schema */
function isKept(value, schema) {
  if (value === null || value === undefined || chooseInput(schema) === "choice") return true;
  try {
    const draft = renderDraft(value, schema);
    if (draft === "") return !value.length;
    return !/\r/.test(String(draft)) && JSON.stringify(readDraft(draft, schema)) === JSON.stringify(value);
  } catch {
    return false;
  }
}

/**
 * How a field is entered: `lines` are a text each, `json` is anything else.
 * @param {Schema} schema
 */
export function chooseInput(schema) {
  if (schema.isJson) return "json";
  if (schema.enum) return "choice";
  if (schema.type === "boolean") return schema.nullable ? "choice" : "switch";
  if (schema.type === "integer") return "integer";
  if (schema.type === "number" || schema.format === "decimal") return "decimal";
  if (schema.format === "date") return "date";
  if (schema.type === "array") {
    const entry = resolve(schema.items);
    return entry.type === "string" && entry.format !== "decimal" ? "lines" : "json";
  }
  return schema.type === "string" ? "text" : "json";
}

/** The values of a choice. @param {Schema} schema @returns {any[]} */
function listChoices(schema) {
  return schema.enum ?? [true, false];
}

/**
 * A value as it is edited.
 * @param {any} value
 * @param {Schema} schema
 * @returns {string | boolean}
 */
export function renderDraft(value, schema) {
  const input = chooseInput(schema);
  if (input === "switch") return Boolean(value);
  if (value === null || value === undefined) return "";
  if (input === "lines") return value.join("\n");
  return input === "json" ? JSON.stringify(value, null, 2) : String(value).replaceAll("\r\n", "\n");
}

/**
 * The value that was entered: null for none, where that is a value of the field.
 * @param {string | boolean} typed
 * @param {Schema} schema
 * @returns {any}
 * @throws {Error} it is no value of the field
 */
function readDraft(typed, schema) {
  if (typeof typed === "boolean") return typed;
  const input = chooseInput(schema);
  const text = input === "text" || input === "lines" ? typed : typed.trim();
  if (text === "") {
    if (schema.nullable) return null;
    if (input === "lines") return [];
    if (input !== "text") throw new Error(NEEDED);
  }
  switch (input) {
    case "integer":
    case "decimal":
      if (!NUMBER.test(text)) {
        throw new Error(`“${text}” is no number. Write digits alone, like 1234 or -0.5: no commas, no spaces.`);
      }
      return schema.type === "string" ? text : parseJson(text);
    case "lines":
      return text.split("\n").filter(Boolean);
    case "json":
      try {
        return parseJson(text);
      } catch {
        throw new Error("This is no JSON. Put texts in double quotes, and commas between entries.");
      }
    case "choice":
      return listChoices(schema).find((one) => String(one) === text);
    default:
      return text.replaceAll("\n", schema.breaks ?? "\n");
  }
}

/**
 * The body of what was entered: all fields that were changed.
 * @param {FormField[]} fields
 * @param {Draft} draft
 * @param {Record<string, any>} stored what the draft began with
 * @param {{isWhole?: boolean, required?: string[]}} [options] `isWhole`: with the fields that were
 *   not changed, as they are stored; `required`: fields that must be entered
 * @throws {Error} with a sentence for each field that cannot be sent
 */
export function readFields(fields, draft, stored, { isWhole = false, required = [] } = {}) {
  /** @type {Record<string, any>} */
  const body = {};
  const errors = [];
  for (const { name, schema } of fields) {
    const before = renderDraft(stored[name], schema);
    const typed = draft[name] ?? before;
    const isRequired = required.includes(name);
    try {
      if (isIncomplete(name)) throw new Error("This date is not complete: enter the rest, or clear it.");
      if (isRequired && typed === "") throw new Error(NEEDED);
      if (typed !== before || isRequired) body[name] = readDraft(typed, schema);
      else if (isWhole && stored[name] !== undefined) body[name] = stored[name];
    } catch (/** @type {any} */ problem) {
      errors.push({ field: name, message: problem.message });
    }
  }
  if (errors.length) throw Object.assign(new Error("Correct the fields below."), { title: "This cannot be sent", errors });
  return body;
}

/** Whether a part of a date is missing: its input has no value then, as if it were empty. @param {string} name */
function isIncomplete(name) {
  const input = document.getElementById(`field-${name}`);
  return input instanceof HTMLInputElement && input.validity.badInput;
}

/**
 * The fields of a form, each with the sentence of a refusal.
 * @param {{fields: FormField[], draft: Draft, stored: Record<string, any>, required?: string[], error: any,
 *   setDraft: (change: (before: Draft) => Draft) => void}} props
 */
export function Fields({ fields, draft, stored, required = [], error, setDraft }) {
  const problems = new Map((error?.errors ?? []).map((/** @type {any} */ { field, message }) => [field.split(/[.[]/)[0], message]));
  return fields.filter(({ schema }) => !isFixed(schema, stored)).map(
    ({ name, schema }) => html`<${Field}
      key=${name}
      name=${name}
      schema=${schema}
      isRequired=${required.includes(name)}
      value=${draft[name] ?? renderDraft(stored[name], schema)}
      problem=${problems.get(name)}
      onChange=${(/** @type {string | boolean} */ value) => setDraft((before) => ({ ...before, [name]: value }))}
    />`,
  );
}

/** @param {Schema} schema @param {Record<string, any>} stored */
const isFixed = ({ "x-daicho-writers": writers, "x-daicho-frozen": frozen }, stored) =>
  (writers && !writers.some(hasGroup)) || Object.keys(frozen ?? {}).some((name) => frozen[name].includes(stored[name]));

/**
 * A field with its label, its limits and its problem.
 * @param {{name: string, schema: Schema, value: string | boolean | undefined, isRequired?: boolean,
 *   problem?: string, onChange: (value: string | boolean) => void, idPrefix?: string}} props
 */
export function Field({ name, schema, value, isRequired, problem, onChange, idPrefix = "field" }) {
  const id = `${idPrefix}-${name}`;
  const input = chooseInput(schema);
  const help = [schema.description, describeLimits(schema, input)].filter(Boolean).join(" ");
  const common = {
    id,
    name,
    "aria-invalid": problem ? "true" : undefined,
    "aria-describedby": joinClasses(help && `${id}-help`, problem && `${id}-problem`) || undefined,
    "aria-required": isRequired ? "true" : undefined,
    onInput: (/** @type {any} */ event) => onChange(event.currentTarget.value),
  };
  return html`<div class=${joinClasses("field", problem && "invalid")}>
    ${input === "switch"
      ? html`<label class="switch" for=${id}
          ><input
            type="checkbox"
            ...${common}
            checked=${Boolean(value)}
            onInput=${(/** @type {any} */ event) => onChange(event.currentTarget.checked)}
          />${renderName(name)}</label
        >`
      : html`<label for=${id}
            >${renderName(name)}${isRequired && html`<span class="required" aria-hidden="true"> *</span>`}</label
          >
          <${Input} input=${input} schema=${schema} value=${value} common=${common} isRequired=${isRequired} />`}
    ${help && html`<p class="help" id=${`${id}-help`}>${help}</p>`}
    ${problem && html`<p class="field-problem" id=${`${id}-problem`} role="alert">${problem}</p>`}
  </div>`;
}

/** @param {{input: string, schema: Schema, value: any, common: any, isRequired?: boolean}} props */
function Input({ input, schema, value, common, isRequired }) {
  const text = value ?? "";
  switch (input) {
    case "choice":
      return html`<select ...${common} value=${text}>
        ${!isRequired && html`<option value="">–</option>`}
        ${isRequired && text === "" && html`<option value="" disabled selected>Choose…</option>`}
        ${listChoices(schema).map(String).map((one) => html`<option key=${one} value=${one}>${one}</option>`)}
      </select>`;
    case "date":
      return html`<input type="date" ...${common} value=${text} />`;
    case "integer":
    case "decimal":
      return html`<input inputmode=${input === "integer" ? "numeric" : "decimal"} class="number" ...${common} value=${text} autocomplete="off" />`;
    case "lines":
    case "json":
      return html`<textarea
        ...${common}
        class=${input === "json" ? "mono" : ""}
        dir="auto"
        rows=${Math.min(12, Math.max(3, String(text).split("\n").length))}
        spellcheck=${false}
        value=${text}
      />`;
    default: {
      const isLong = schema.maxLength > 300 || String(text).length > 100 || String(text).includes("\n");
      return isLong
        ? html`<textarea ...${common} dir="auto" rows="4" value=${text} />`
        : html`<input ...${common} dir="auto" value=${text} autocomplete="off" />`;
    }
  }
}

/**
 * @param {Schema} schema
 * @param {string} input
 */
function describeLimits(schema, input) {
  if (input === "lines") return "One a line.";
  if (input === "json") return "JSON.";
  const { minimum, maximum } = schema;
  if (minimum !== undefined && maximum !== undefined) return `From ${minimum} to ${maximum}.`;
  if (schema.maxLength && schema.maxLength < 2_000) return `Up to ${schema.maxLength} characters.`;
  return "";
}
