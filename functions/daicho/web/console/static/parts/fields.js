/**
 * Form fields by JSON Schema. A draft has the text that was typed, by field; `readDraft` makes the
 * body of it. So nothing that was typed is lost, not even what cannot be sent.
 */

import { html, joinClasses } from "console/html.js";
import { renderName, resolve } from "console/catalog.js";

/**
 * @typedef {import("console/catalog.js").Schema} Schema
 * @typedef {Record<string, string | boolean>} Draft
 */

/**
 * How a field is entered: `lines` are a text each, `json` is anything else.
 * @param {Schema} schema
 */
export function chooseInput(schema) {
  if (schema.enum) return "choice";
  if (schema.type === "boolean") return "switch";
  if (schema.type === "integer") return "integer";
  if (schema.type === "number" || schema.format === "decimal") return "decimal";
  if (schema.format === "date") return "date";
  if (schema.type === "array" && resolve(schema.items).type === "string") return "lines";
  if (schema.type === "string") return "text";
  return "json";
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
  return input === "json" ? JSON.stringify(value, null, 2) : String(value);
}

/**
 * The value that was entered; undefined for none.
 * @param {string | boolean | undefined} typed
 * @param {Schema} schema
 * @returns {any}
 */
export function readDraft(typed, schema) {
  if (typed === undefined) return undefined;
  if (typeof typed === "boolean") return typed;
  switch (chooseInput(schema)) {
    case "integer":
    case "decimal": {
      if (!typed.trim()) return undefined;
      return schema.type === "string" ? typed.trim() : Number(typed);
    }
    case "lines":
      return typed.split("\n").map((line) => line.trim()).filter(Boolean);
    case "json":
      return typed.trim() ? JSON.parse(typed) : undefined;
    case "choice": {
      const match = schema.enum.find((/** @type {any} */ one) => String(one) === typed);
      return match ?? (schema.nullable ? null : undefined);
    }
    case "date":
      return typed || (schema.nullable ? null : undefined);
    default:
      return typed === "" && schema.nullable ? null : typed;
  }
}

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
        ${schema.enum.map((/** @type {any} */ one) => html`<option key=${one} value=${one}>${one}</option>`)}
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
