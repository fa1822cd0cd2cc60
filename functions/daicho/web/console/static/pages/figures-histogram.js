/** Histograms of declared buckets: their bars, the percentiles that they bound, and their table. */

import { useMemo } from "preact/hooks";
import { html } from "console/html.js";
import { renderNumber, renderPercent } from "console/format.js";
import { SeriesChart } from "console/parts/chart.js";
import { FigureTable } from "console/pages/figures-table.js";

/** @typedef {{low: string | null, high: string | null, count: number}} Bucket null: no bound */

const PERCENTS = [50, 90, 99];

/**
 * The bucket with a percentile by nearest rank: of 7 values, p50 is the fourth. Null without values.
 * @param {Bucket[]} histogram
 * @param {number} percent above 0, at most 100
 */
export function findPercentile(histogram, percent) {
  const rank = Math.ceil((countValues(histogram) * percent) / 100);
  let counted = 0;
  return (rank && histogram.find(({ count }) => (counted += count) >= rank)) || null;
}

/**
 * Where the values of a bucket are, in words. The bounds are the API's texts.
 * @param {Pick<Bucket, "low" | "high">} bucket
 */
export function renderBounds({ low, high }) {
  if (low !== null && high !== null) return `between ${low} and ${high}`;
  if (low !== null) return `${low} or more`;
  return high === null ? "any value" : `below ${high}`;
}

/**
 * The sum of histograms with the same bounds: those of the buckets of a series.
 * @param {Bucket[][]} all
 * @returns {Bucket[]}
 */
export function addHistograms(all) {
  const [first = [], ...others] = all;
  return first.map((bucket, place) => ({
    ...bucket,
    count: others.reduce((sum, other) => sum + (other[place]?.count ?? 0), bucket.count),
  }));
}

/** @param {Bucket[]} histogram */
function countValues(histogram) {
  return histogram.reduce((sum, { count }) => sum + count, 0);
}

/**
 * A histogram with its percentiles and its table.
 * @param {{title: string, histogram: Bucket[]}} props
 */
export function Histogram({ title, histogram }) {
  const points = useMemo(() => histogram.map(({ count }, place) => /** @type {[number, number]} */ ([place, count])), [histogram]);
  const labels = useMemo(() => histogram.map(renderShort), [histogram]);
  const all = countValues(histogram);
  if (!all) return html`<section><h2>${title}</h2><p class="muted">No value is counted here.</p></section>`;
  let upTo = 0;
  const rows = histogram.map(({ low, high, count }) => {
    upTo += count;
    return [low ?? "–", high ?? "–", String(count), renderPercent(upTo / all)];
  });
  return html`<section class="histogram">
    <h2>${title}</h2>
    <dl class="percentiles">
      ${PERCENTS.map((percent) => {
        const bucket = findPercentile(histogram, percent);
        return html`<div key=${percent}><dt>p${percent}</dt><dd>${bucket && renderBounds(bucket)}</dd></div>`;
      })}
    </dl>
    <${SeriesChart} label=${title} points=${points} labels=${labels} kind="histogram" caption=${`${title}: ${renderNumber(all)} values in ${histogram.length} buckets`} />
    <${FigureTable} label=${`Buckets: ${title}`} titles=${["from", "to below", "count", "up to here"]} rows=${rows} />
  </section>`;
}

/** @param {Bucket} bucket */
function renderShort({ low, high }) {
  if (low !== null && high !== null) return `${low}–${high}`;
  return low !== null ? `≥ ${low}` : `< ${high ?? "∞"}`;
}
