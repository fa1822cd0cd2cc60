/**
 * A table of items that reads its next page while it is scrolled.
 *
 * Rows have one height. Beyond `VIRTUAL_FROM` rows only those in view are in the document, below a
 * padding as high as the rows before them. So a row keeps its place in the layout: with `transform`
 * instead of the padding, the browser would report a layout shift of every row. It has the roles of a table, so that screen readers find
 * rows and columns.
 */

import { Component } from "preact";
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { html, joinClasses } from "console/html.js";
import { CellValue } from "console/parts/value.js";
import { ErrorState, Skeleton } from "console/parts/states.js";

/**
 * @typedef {{name: string, title: string, width?: string, isNumber?: boolean,
 *   isMarked?: boolean, render?: (row: any) => any}} Column
 */

const ROW_HEIGHT = 40;
const VIRTUAL_FROM = 100;
const OVERSCAN = 12;
const MORE_WITHIN_PX = 800;

class Row extends Component {
  /** @param {any} next */
  shouldComponentUpdate(next) {
    const now = /** @type {any} */ (this.props);
    return ["row", "columns", "keyword", "place", "isActive"].some((name) => next[name] !== now[name]);
  }

  /** @param {any} props */
  render({ row, columns, keyword, place, href }) {
    return html`<div class="row" role="row" aria-rowindex=${place + 2}>
      ${columns.map((/** @type {Column} */ column, /** @type {number} */ index) => {
        const content = column.render
          ? column.render(row)
          : html`<${CellValue} value=${row[column.name]} keyword=${column.isMarked === false ? "" : keyword} />`;
        return html`<div role="cell" class=${joinClasses("cell", column.isNumber && "number")} key=${column.name}>
          ${index === 0 && href ? html`<a class="row-link" href=${href}>${content}</a>` : content}
        </div>`;
      })}
    </div>`;
  }
}

/** The width below which a table is scrolled, in rem. @param {Column[]} columns */
function sumWidths(columns) {
  return columns.reduce((sum, { width = "8rem" }) => sum + parseFloat(width.replace(/^\D+/, "")), 1);
}

/**
 * @param {{label: string, columns: Column[], rows: any[], getHref?: (row: any) => string | null,
 *   keyword?: string, isLoading?: boolean, isStale?: boolean, hasMore?: boolean,
 *   onMore?: () => void, error?: any, onRetry?: () => void, empty?: any}} props
 *   `isStale`: the rows are of an older question
 */
export function Table(props) {
  const { label, columns, rows, getHref, keyword, isLoading, isStale, hasMore, onMore, error } = props;
  const scroller = useRef(/** @type {HTMLDivElement | null} */ (null));
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  const frame = useRef(0);
  const isVirtual = rows.length > VIRTUAL_FROM;

  const askForMore = useCallback(() => {
    const element = scroller.current;
    if (!element || !hasMore || isLoading || error) return;
    if (element.scrollHeight - element.scrollTop - element.clientHeight < MORE_WITHIN_PX) onMore?.();
  }, [hasMore, isLoading, error, onMore]);

  // After every page, as a short page with a cursor moves nothing that could be observed.
  useLayoutEffect(askForMore, [rows, askForMore]);

  useEffect(() => {
    const element = scroller.current;
    if (!element) return undefined;
    const observer = new ResizeObserver(() => setHeight(element.clientHeight));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  useEffect(() => {
    if (isStale === false && scroller.current && rows.length <= 100) return;
    if (isStale && scroller.current) scroller.current.scrollTop = 0;
  }, [isStale]);

  const follow = () => {
    cancelAnimationFrame(frame.current);
    frame.current = requestAnimationFrame(() => {
      if (isVirtual) setTop(scroller.current?.scrollTop ?? 0);
      askForMore();
    });
  };

  const first = isVirtual ? Math.max(0, Math.floor(top / ROW_HEIGHT) - OVERSCAN) : 0;
  const last = isVirtual ? Math.min(rows.length, Math.ceil((top + height) / ROW_HEIGHT) + OVERSCAN) : rows.length;
  const template = columns.map(({ width }) => width ?? "minmax(8rem, 1fr)").join(" ");

  return html`<div class="table" aria-busy=${Boolean(isLoading)}>
    <div
      class=${joinClasses("scroller", isStale && rows.length > 0 && "stale")}
      ref=${scroller}
      onScroll=${follow}
      tabindex="0"
      role="region"
      aria-label=${label}
    >
      <div
        role="table"
        class="grid"
        aria-label=${label}
        aria-rowcount=${hasMore ? -1 : rows.length + 1}
        aria-colcount=${columns.length}
        style=${{ "--columns": template, "--least": `${sumWidths(columns)}rem` }}
      >
        <div role="rowgroup" class="head">
          <div class="row" role="row" aria-rowindex="1">
            ${columns.map(
              ({ name, title, isNumber }) =>
                html`<div role="columnheader" class=${joinClasses("cell", isNumber && "number")} key=${name}>
                  ${title}
                </div>`,
            )}
          </div>
        </div>
        <div role="rowgroup" class="body" style=${{ height: isVirtual ? `${rows.length * ROW_HEIGHT}px` : "auto" }}>
          <div class="window" role="presentation" style=${{ paddingTop: `${first * ROW_HEIGHT}px` }}>
            ${rows.slice(first, last).map((row, offset) => {
              const place = first + offset;
              return html`<${Row}
                key=${place}
                row=${row}
                columns=${columns}
                keyword=${keyword}
                place=${place}
                href=${getHref?.(row)}
              />`;
            })}
          </div>
        </div>
      </div>
      ${error && rows.length > 0 && html`<${ErrorState} error=${error} onRetry=${props.onRetry} compact />`}
      ${error && !rows.length && html`<${ErrorState} error=${error} onRetry=${props.onRetry} />`}
      ${!rows.length && isLoading && !error && html`<${Skeleton} />`}
      ${!rows.length && !isLoading && !error && !hasMore && props.empty}
    </div>
    ${hasMore && rows.length > 0 && isLoading && !error && html`<p class="more muted" aria-hidden="true">Loading more…</p>`}
  </div>`;
}
