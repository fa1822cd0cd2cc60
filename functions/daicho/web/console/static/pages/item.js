/** An item: as fields and as JSON, its versions and sections, and what the stack knows about it. */

import { useState } from "preact/hooks";
import { html } from "console/html.js";
import {
  fillRequest, findOperation, findQuery, readQueryHash, renderName, renderPlural, resolve, resolveItem,
} from "console/catalog.js"; // prettier-ignore
import { useLoad } from "console/load.js";
import { makeKey, request } from "console/request.js";
import { makeHash, navigate } from "console/router.js";
import { ask } from "console/parts/dialog.js";
import { CopyButton } from "console/parts/copy.js";
import { CurlButton } from "console/parts/curl.js";
import { renderId } from "console/parts/item-list.js";
import { Menu } from "console/parts/menu.js";
import { ErrorState, Skeleton, Empty } from "console/parts/states.js";
import { Freshness, PageHeader } from "console/parts/page.js";
import { showToast } from "console/parts/status.js";
import { FullValue, JsonView } from "console/parts/value.js";
import { Editor } from "console/pages/item-editor.js";
import { Sections, Versions } from "console/pages/item-history.js";
import { Related } from "console/pages/item-related.js";

const TITLES = ["name", "title", "question", "text", "id"];

/** @param {{route: import("console/router.js").Route}} props */
export default function ItemPage({ route }) {
  const operation = findOperation(route.path[1] ?? "");
  const get = operation?.queries.find(({ kind }) => kind === "get");
  if (!operation || !get) {
    return html`<div class="page"><${Empty} isPage title="There is no such item"><a href="#/">Go to the start</a><//></div>`;
  }
  return html`<${Item} key=${route.hash} get=${get} values=${readQueryHash(operation, route)} />`;
}

/** @param {{get: import("console/catalog.js").Query, values: Record<string, string>}} props */
function Item({ get, values }) {
  const entity = get.entity ?? "";
  const filled = fillRequest(get, values);
  const loaded = useLoad(
    async (signal) => {
      if (!filled) throw new Error("The address of this item is not complete.");
      return request(filled.path, { query: filled.query, signal });
    },
    [filled?.path],
  );
  const [tab, setTab] = useState("fields");
  const item = loaded.data?.data;
  const etag = loaded.data?.etag ?? null;
  const change = findQuery(entity, "change") ?? findQuery(entity, "replace");
  const remove = findQuery(entity, "delete");
  const tabs = [
    ["fields", "Fields"],
    ["json", "JSON"],
    ...(findQuery(entity, "section") ? [["sections", "Sections"]] : []),
    ...(findQuery(entity, "versions") ? [["versions", "Versions"]] : []),
    ["related", "Related"],
  ];
  const title = item ? String(TITLES.map((name) => item[name]).find((one) => typeof one === "string" && one) ?? entity) : renderName(entity);

  const deleteItem = async () => {
    const isSure = await ask({
      title: `Delete this ${renderName(entity).toLowerCase()}?`,
      text: `“${title.slice(0, 80)}” is removed, and subtracted from every figure that counts it.`,
      confirm: "Delete",
      isDangerous: true,
    });
    const request_ = remove && fillRequest(remove, values);
    if (!isSure || !request_) return;
    try {
      const { status } = await request(request_.path, { method: "DELETE", query: request_.query, headers: etag ? { "If-Match": etag } : {}, key: makeKey() });
      showToast(`${renderName(entity)} ${status === 202 ? "is being deleted" : "deleted"}`);
      navigate(makeHash(["entity", entity]));
    } catch (/** @type {any} */ error) {
      if (error.status === 412) loaded.reload();
      showToast(error.status === 412 ? "It was changed meanwhile, and is shown again. It was not deleted." : error.message, "failed");
    }
  };

  return html`<div class="page">
    <${PageHeader} title=${title.slice(0, 160)} trail=${[{ text: renderPlural(entity), href: makeHash(["entity", entity]) }]}>
      ${item &&
      html`<${Menu} label="Copy" icon="copy">
        <${CopyButton} label="Id" text=${renderId(entity, item)} />
        <${CopyButton} label="JSON" text=${() => JSON.stringify(item, null, 2)} />
        <${CopyButton} label="Link" text=${() => location.href} />
      <//>`}
      ${filled && html`<${CurlButton} path=${filled.path} query=${filled.query} />`}
      ${remove && item && html`<button type="button" class="button" onClick=${deleteItem}>Delete</button>`}
      ${change && item && tab !== "edit" &&
      html`<button type="button" class="button primary" onClick=${() => setTab("edit")}>Edit</button>`}
    <//>
    <div class="tabs" role="group" aria-label="Views">
      ${tabs.map(
        ([id, name]) => html`<button type="button" key=${id} aria-pressed=${tab === id || (id === "fields" && tab === "edit")} onClick=${() => setTab(id)} disabled=${tab === "edit" && id !== "fields"}>
          ${name}
        </button>`,
      )}
    </div>
    ${loaded.error && html`<${ErrorState} error=${loaded.error} onRetry=${loaded.reload} />`}
    ${!item && !loaded.error && html`<${Skeleton} />`}
    ${item && tab === "fields" && html`<${Fields} item=${item} schema=${resolveItem(get.operation)} />`}
    ${item && tab === "json" && html`<${JsonView} value=${item} />`}
    ${item && tab === "edit" && change &&
    html`<${Editor}
      query=${change}
      get=${get}
      values=${values}
      stored=${loaded.data}
      onDone=${() => {
        setTab("fields");
        loaded.reload();
      }}
      onCancel=${() => setTab("fields")}
    />`}
    ${item && tab === "sections" && html`<${Sections} entity=${entity} item=${item} values=${values} onChange=${loaded.reload} />`}
    ${item && tab === "versions" && html`<${Versions} entity=${entity} item=${item} values=${values} onChange=${loaded.reload} />`}
    ${item && tab === "related" && html`<${Related} get=${get} item=${item} />`}
    ${item && html`<${Freshness} at=${loaded.data?.at ?? null} kind="item" />`}
  </div>`;
}

/** @param {{item: Record<string, any>, schema: import("console/catalog.js").Schema}} props */
function Fields({ item, schema }) {
  return html`<dl class="details">
    ${Object.entries(item).map(([name, value]) => {
      const described = resolve(schema.properties?.[name]);
      return html`<div key=${name}>
        <dt title=${described.description}>${renderName(name)}</dt>
        <dd><${FullValue} value=${value} /></dd>
      </div>`;
    })}
  </dl>`;
}
