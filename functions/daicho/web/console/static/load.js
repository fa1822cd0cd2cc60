/**
 * Data that a page reads: what is shown stays while it is read again, and a late answer of an older
 * request is ignored.
 */

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { isAborted, request } from "console/request.js";

const JOB_EVERY_MS = 1_000;

/**
 * Read something whenever `inputs` change.
 * @template T
 * @param {(signal: AbortSignal) => Promise<T>} read
 * @param {any[]} inputs
 * @returns {{data: T | null, error: any, isLoading: boolean, reload: () => void}}
 */
export function useLoad(read, inputs) {
  const [result, setResult] = useState(
    /** @type {{data: any, error: any, isLoading: boolean}} */ ({ data: null, error: null, isLoading: true }),
  );
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    const controller = new AbortController();
    setResult((before) => ({ ...before, isLoading: true }));
    read(controller.signal).then(
      (data) => controller.signal.aborted || setResult({ data, error: null, isLoading: false }),
      (error) => {
        if (isAborted(error) || controller.signal.aborted) return;
        setResult((before) => ({ ...before, error, isLoading: false }));
      },
    );
    return () => controller.abort();
  }, [...inputs, attempt]);
  return { ...result, reload: useCallback(() => setAttempt((before) => before + 1), []) };
}

/**
 * Read a job, and again every second until it has ended.
 * @param {string} path
 */
export function useJob(path) {
  const loaded = useLoad(async (signal) => (await request(path, { signal })).data, [path]);
  const { data, error, isLoading, reload } = loaded;
  useEffect(() => {
    if (data?.state !== "running" || isLoading || error) return undefined;
    const timer = setTimeout(reload, JOB_EVERY_MS);
    return () => clearTimeout(timer);
  }, [data, isLoading, error]);
  return loaded;
}

/**
 * Pages of a list, one after the other. `readPage` gets the cursor of the page before.
 * @param {((cursor: string | null, signal: AbortSignal) => Promise<{items: any[], cursor: string | null}>) | null} readPage
 *   null: nothing can be read yet
 * @param {any[]} inputs the list begins again when they change
 */
export function usePages(readPage, inputs) {
  const empty = {
    rows: /** @type {any[]} */ ([]),
    cursor: /** @type {string | null} */ (null),
    error: /** @type {any} */ (null),
    isLoading: Boolean(readPage),
    isStale: false,
    at: /** @type {Date | null} */ (null),
    page: /** @type {any} */ (null),
  };
  const [list, setList] = useState(empty);
  const [attempt, setAttempt] = useState(0);
  const current = useRef(/** @type {AbortController | null} */ (null));
  const latest = useRef(list);
  latest.current = list;

  const readNext = useCallback(
    async (/** @type {AbortController} */ controller, /** @type {string | null} */ cursor) => {
      if (!readPage) return;
      try {
        const page = await readPage(cursor, controller.signal);
        if (controller.signal.aborted) return;
        setList((before) => ({
          rows: cursor === null ? page.items : [...before.rows, ...page.items],
          cursor: page.cursor,
          error: null,
          isLoading: false,
          isStale: false,
          at: new Date(),
          page, // the last one: with how fresh it is
        }));
      } catch (error) {
        if (isAborted(error) || controller.signal.aborted) return;
        setList((before) => ({ ...before, error, isLoading: false }));
      }
    },
    inputs,
  );

  useEffect(() => {
    const controller = new AbortController();
    current.current = controller;
    if (readPage) {
      setList((before) => ({ ...before, isLoading: true, isStale: true, error: null }));
      void readNext(controller, null);
    } else setList(empty);
    return () => controller.abort();
  }, [...inputs, attempt]);

  const loadMore = useCallback(() => {
    const { cursor, isLoading, isStale, error } = latest.current;
    if (!cursor || isLoading || isStale || error || !current.current) return;
    latest.current = { ...latest.current, isLoading: true };
    setList((before) => ({ ...before, isLoading: true }));
    void readNext(current.current, cursor);
  }, inputs);

  const retry = useCallback(() => {
    const { cursor, rows, isStale } = latest.current;
    if (!cursor || !rows.length || isStale || !current.current) {
      setAttempt((before) => before + 1);
      return;
    }
    setList((before) => ({ ...before, isLoading: true, error: null }));
    void readNext(current.current, cursor);
  }, inputs);

  const restart = useCallback(() => setAttempt((before) => before + 1), []);
  return { ...list, loadMore, retry, restart };
}
