/** An entity: its declared ways — searches, lists, figures — as they are mounted, and its fields. */

import { html } from "console/html.js";
import { entities, findQuery, listNeeded, listQueries, renderName, renderPlural, resolve, resolveItem } from "console/catalog.js";
import { makeHash, navigate } from "console/router.js";
import { useEffect } from "preact/hooks";
import { Empty } from "console/parts/states.js";
import { Icon } from "console/parts/icons.js";
import { PageHeader } from "console/parts/page.js";
import { Ways } from "console/parts/ways.js";

const WRITES = ["create", "replace", "change", "delete"];

/** @param {{route: import("console/router.js").Route}} props */
export default function EntityPage({ route }) {
  const entity = entities.value.get(route.path[1] ?? "");
  // An entity with one list is best shown by it.
  useEffect(() => {
    const lists = listQueries(entity, "list", "search");
    const other = listQueries(entity, "ranking", "total");
    if (lists.length === 1 && !other.length && !listNeeded(lists[0]).length && entity) {
      navigate(makeHash(["list", lists[0].operation.id], { $view: lists[0].name }), { replace: true });
    }
  }, [entity]);
  if (!entity) return html`<div class="page"><${Empty} isPage title="There is no such entity"><a href="#/">Go to the start</a><//></div>`;
  const create = findQuery(entity.name, "create") ?? findQuery(entity.name, "replace");
  const get = findQuery(entity.name, "get") ?? listQueries(entity, "list", "search")[0];
  const fields = get ? Object.entries(resolveItem(get.operation).properties ?? {}) : [];
  const writes = listQueries(entity, ...WRITES);
  return html`<div class="page">
    <${PageHeader} title=${renderPlural(entity.name)} about=${get && resolveItem(get.operation).description}>
      ${create &&
      html`<a class="button primary" href=${makeHash(["new", create.operation.id])}><${Icon} name="plus" />New</a>`}
    <//>
    <${Ways} title="Searches" page="search" queries=${listQueries(entity, "search")} />
    <${Ways} title="Lists" page="list" queries=${listQueries(entity, "list")} />
    <${Ways} title="Figures" page="charts" queries=${listQueries(entity, "ranking", "total")} />
    <${Ways} title="Series" page="figures" queries=${listQueries(entity, "series")} />
    <section>
      <h2>Fields</h2>
      <div class="fields-table" role="table" aria-label="Fields">
        ${fields.map(
          ([name, schema]) => html`<div role="row" key=${name}>
            <span role="cell"><code>${name}</code></span>
            <span role="cell" class="muted">${describeType(resolve(schema))}</span>
          </div>`,
        )}
      </div>
      <p class="muted small">
        ${writes.length ? `Writes: ${WRITES.filter((kind) => writes.some((one) => one.kind === kind)).join(", ")}.` : "Read only."}
      </p>
    </section>
  </div>`;
}

/** @param {import("console/catalog.js").Schema} schema */
function describeType(schema) {
  const kind = schema.enum ? schema.enum.join(" | ") : (schema.format ?? schema.type ?? "any value");
  const item = schema.items ? ` of ${schema.items.$ref ? renderName(schema.items.$ref.split("/").at(-1)) : (schema.items.type ?? "any value")}` : "";
  return `${kind}${item}${schema.nullable ? ", or nothing" : ""}`;
}
