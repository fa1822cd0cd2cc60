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
import { readKey } from "console/parts/keyboard.js";
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
const HEAD_HEIGHT = 36;
const CHECK_WIDTH = "2.5rem";

class Row extends Component {
  /** @param {any} next */
  shouldComponentUpdate(next) {
    const now = /** @type {any} */ (this.props);
    return ["row", "columns", "keyword", "place", "isSelected"].some((name) => next[name] !== now[name]);
  }

  /** @param {any} props */
  render({ row, columns, keyword, place, href, isSelected }) {
    return html`<div class=${joinClasses("row", isSelected && "selected")} role="row" aria-rowindex=${place + 2}>
      ${isSelected !== undefined && html`<div role="cell" class="check"><input type="checkbox" aria-label=${`Select row ${place + 1}`} checked=${isSelected} /></div>`}
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

/** The place of the row in which something happens; -1 outside of rows. @param {Event} event */
function findPlace(event) {
  const row = event.target instanceof HTMLElement ? event.target.closest(".body [role=row]") : null;
  return row ? Number(row.ariaRowIndex) - 2 : -1;
}

/** The width below which a table is scrolled, in rem. @param {Column[]} columns */
function sumWidths(columns) {
  return columns.reduce((sum, { width = "8rem" }) => sum + parseFloat(width.replace(/^\D+/, "")), 1);
}

/**
 * @param {{label: string, columns: Column[], rows: any[], getHref?: (row: any) => string | null,
 *   keyword?: string, isLoading?: boolean, isStale?: boolean, hasMore?: boolean,
 *   onMore?: () => void, error?: any, onRetry?: () => void, empty?: any, selected?: Set<any>,
 *   onSelect?: (rows: any[], isSelected: boolean) => void}} props
 *   `isStale`: the rows are of an older question; `selected`: with it, rows have a box to select them
 */
export function Table(props) {
  const { label, columns, rows, getHref, keyword, isLoading, isStale, hasMore, onMore, error, selected, onSelect } = props;
  const scroller = useRef(/** @type {HTMLDivElement | null} */ (null));
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  const frame = useRef(0);
  const [focused, setFocused] = useState(/** @type {{place: number} | null} */ (null));
  const anchor = useRef(0);
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

  useLayoutEffect(() => {
    const row = focused && scroller.current?.querySelector(`.body [aria-rowindex="${focused.place + 2}"]`);
    const inside = row?.querySelector(".cell :is(a, button)") ?? row?.querySelector("input");
    if (inside instanceof HTMLElement) inside.focus({ preventScroll: true });
  }, [focused]);

  const focusRow = (/** @type {number} */ place) => {
    const element = scroller.current;
    if (!element || place < 0 || place >= rows.length) return;
    const above = place * ROW_HEIGHT;
    element.scrollTop = Math.min(above, Math.max(element.scrollTop, above + HEAD_HEIGHT + ROW_HEIGHT - element.clientHeight));
    setTop(element.scrollTop);
    setFocused({ place });
  };

  /** Select a row or not; with `isRange` all rows from the last one that was. @param {number} place @param {boolean} isRange */
  const toggle = (place, isRange) => {
    const [begin, end] = [isRange ? anchor.current : place, place].sort((a, b) => a - b);
    anchor.current = place;
    onSelect?.(rows.slice(begin, end + 1), !selected?.has(rows[place]));
  };

  const followKey = (/** @type {KeyboardEvent} */ event) => {
    const key = readKey(event);
    const place = findPlace(event);
    const to = { ArrowDown: place + 1, j: place + 1, ArrowUp: place - 1, k: place - 1, Home: 0, End: rows.length - 1 }[key];
    const isBox = event.target instanceof HTMLInputElement;
    if (to !== undefined && (place >= 0 || to === 0)) focusRow(to);
    else if (place >= 0 && selected && (key === "x" || (key === " " && !isBox))) toggle(place, event.shiftKey);
    else return;
    event.preventDefault();
  };

  const followClick = (/** @type {MouseEvent} */ event) => {
    const place = findPlace(event);
    if (place >= 0 && event.target instanceof HTMLInputElement) toggle(place, event.shiftKey);
  };

  const first = isVirtual ? Math.max(0, Math.floor(top / ROW_HEIGHT) - OVERSCAN) : 0;
  const last = isVirtual ? Math.min(rows.length, Math.ceil((top + height) / ROW_HEIGHT) + OVERSCAN) : rows.length;
  const template = [...(selected ? [CHECK_WIDTH] : []), ...columns.map(({ width }) => width ?? "minmax(8rem, 1fr)")].join(" ");
  const areAll = rows.length > 0 && rows.every((row) => selected?.has(row));

  return html`<div class="table" aria-busy=${Boolean(isLoading)}>
    <div
      class=${joinClasses("scroller", isStale && rows.length > 0 && "stale")}
      ref=${scroller}
      onScroll=${follow}
      onKeyDown=${followKey}
      tabindex="0"
      role="region"
      aria-label=${label}
    >
      <div
        role="table"
        class="grid"
        aria-label=${label}
        aria-rowcount=${hasMore ? -1 : rows.length + 1}
        aria-colcount=${columns.length + (selected ? 1 : 0)}
        style=${{ "--columns": template, "--least": `${sumWidths(columns)}rem` }}
      >
        <div role="rowgroup" class="head">
          <div class="row" role="row" aria-rowindex="1">
            ${selected &&
            html`<div role="columnheader" class="check">
              <input type="checkbox" aria-label="Select all rows that were read" checked=${areAll} onChange=${() => onSelect?.(rows, !areAll)} />
            </div>`}
            ${columns.map(
              ({ name, title, isNumber }) =>
                html`<div role="columnheader" class=${joinClasses("cell", isNumber && "number")} key=${name}>
                  ${title}
                </div>`,
            )}
          </div>
        </div>
        <div role="rowgroup" class="body" onClick=${followClick} style=${{ height: isVirtual ? `${rows.length * ROW_HEIGHT}px` : "auto" }}>
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
                isSelected=${selected?.has(row)}
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

/** A table of the pages of `usePages`. @param {any} props those of `Table`, with `list` */
export function PagedTable({ list, ...props }) {
  const { rows, isLoading, isStale, error } = list;
  return html`<${Table}
    ...${props}
    rows=${rows}
    isLoading=${isLoading}
    isStale=${isStale}
    hasMore=${Boolean(list.cursor)}
    onMore=${list.loadMore}
    error=${error}
    onRetry=${list.retry}
  />`;
}
