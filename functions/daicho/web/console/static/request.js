/**
 * Requests to the API: with the token, with problems as errors, and kept to be shown as curl.
 *
 * `request(path, options)` answers `{status, data, etag, id}` or throws an `ApiError`. Reads are
 * repeated for a short `Retry-After`; writes never are, but an `Idempotency-Key` makes a repeat by
 * the user the same request.
 */

import { parseJson } from "console/format.js";
import { base, getToken, replaceToken } from "console/session.js";

/**
 * @typedef {Record<string, string | number | boolean | null | undefined>} Query
 * @typedef {{method?: string, query?: Query, body?: any, headers?: Record<string, string>,
 *   signal?: AbortSignal, key?: string}} Options
 * @typedef {{status: number, data: any, etag: string | null, id: string, at: Date,
 *   location: string | null}} Answer
 * @typedef {{method: string, url: string, headers: Record<string, string>, body: string | null,
 *   at: Date, ms: number | null, status: number | null, id: string}} SentRequest
 */

const MAX_KEPT = 50;
const MAX_WAIT_S = 5;
const MAX_READS = 3;
const REQUEST_ID_HEADERS = ["apigw-requestid", "x-amzn-requestid", "x-request-id"];

/** The last requests, newest first. @type {SentRequest[]} */
export const sentRequests = [];

/** A refusal of the API or of the gateway, or no answer at all (status 0). */
export class ApiError extends Error {
  /**
   * @param {{status: number, title: string, detail: string, id?: string, type?: string,
   *   retryAfter?: number, errors?: {field: string, message: string}[]}} problem
   */
  constructor(problem) {
    super(problem.detail);
    this.name = "ApiError";
    this.status = problem.status;
    this.title = problem.title;
    this.detail = problem.detail;
    /** The id by which the logs have the request; empty if it was not answered. */
    this.id = problem.id ?? "";
    /** The address of a page about problems of this kind; empty without one. */
    this.type = problem.type ?? "";
    /** Seconds until a repeat may succeed; 0 if it was not said. */
    this.retryAfter = problem.retryAfter ?? 0;
    /** What is wrong with single fields. */
    this.errors = problem.errors ?? [];
  }
}

/**
 * Whether a request was given up because a newer one replaced it.
 * @param {unknown} error
 */
export function isAborted(error) {
  return error instanceof DOMException && error.name === "AbortError";
}

/**
 * The address of a path of the API.
 * @param {string} path begins with a slash
 * @param {Query} [query]
 */
export function makeUrl(path, query = {}) {
  const url = new URL(path.slice(1), base);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== "") url.searchParams.set(name, String(value));
  }
  return url;
}

/**
 * Send a request.
 * @param {string} path
 * @param {Options} [options] `key`: the Idempotency-Key of a change
 * @returns {Promise<Answer>}
 */
export async function request(path, options = {}) {
  const { method = "GET", signal } = options;
  const url = makeUrl(path, options.query);
  /** @type {Record<string, string>} */
  const headers = { Accept: "application/json", ...options.headers };
  if (options.key) headers["Idempotency-Key"] = options.key;
  const body = options.body === undefined ? null : JSON.stringify(options.body);
  if (body !== null) headers["Content-Type"] = "application/json";
  let token = await getToken();
  for (let attempt = 1; ; attempt += 1) {
    signal?.throwIfAborted();
    const response = await send({ method, url: url.href, headers, body }, token, signal);
    if (response.status === 401 && attempt < MAX_READS) {
      token = await replaceToken(token);
      continue;
    }
    if (response.ok || response.status === 304) return readAnswer(response);
    const error = await readProblem(response);
    const isBusy = error.status === 429 || error.status === 503;
    const wait = error.retryAfter || attempt * 0.4;
    if (method !== "GET" || !isBusy || attempt >= MAX_READS || wait > MAX_WAIT_S) throw error;
    await sleep(wait * 1000, signal);
  }
}

/** A new value for `Idempotency-Key`. */
export function makeKey() {
  return crypto.randomUUID();
}

/**
 * The command that repeats a request. The token is left out: the shell has it in `$TOKEN`.
 * @param {Pick<SentRequest, "method" | "url" | "headers" | "body">} sent
 */
export function renderCurl({ method, url, headers, body }) {
  const lines = [`curl ${quote(url)}`, '-H "Authorization: Bearer $TOKEN"'];
  if (method !== "GET") lines.splice(1, 0, `-X ${method}`);
  for (const [name, value] of Object.entries(headers)) {
    if (name !== "Accept") lines.push(`-H ${quote(`${name}: ${value}`)}`);
  }
  if (body !== null) lines.push(`--data-raw ${quote(body)}`);
  return lines.join(" \\\n  ");
}

/**
 * @param {{method: string, url: string, headers: Record<string, string>, body: string | null}} sent
 * @param {string} token
 * @param {AbortSignal | undefined} signal
 */
async function send(sent, token, signal) {
  /** @type {SentRequest} */
  const entry = { ...sent, at: new Date(), ms: null, status: null, id: "" };
  sentRequests.unshift(entry);
  sentRequests.length = Math.min(sentRequests.length, MAX_KEPT);
  const start = performance.now();
  try {
    const response = await fetch(sent.url, {
      method: sent.method,
      headers: { ...sent.headers, Authorization: `Bearer ${token}` },
      body: sent.body,
      signal,
      cache: "no-store",
    });
    Object.assign(entry, {
      status: response.status,
      ms: Math.round(performance.now() - start),
      id: findRequestId(response),
    });
    return response;
  } catch (error) {
    if (isAborted(error)) {
      sentRequests.splice(sentRequests.indexOf(entry), 1);
      throw error;
    }
    throw new ApiError({
      status: 0,
      title: navigator.onLine ? "No answer" : "Offline",
      detail: navigator.onLine
        ? "The API could not be reached. Check the connection, and try again."
        : "This device is offline. Nothing is lost: try again when it is connected.",
    });
  }
}

/** @param {Response} response */
function findRequestId(response) {
  return REQUEST_ID_HEADERS.map((name) => response.headers.get(name)).find(Boolean) ?? "";
}

/**
 * @param {Response} response
 * @returns {Promise<Answer>}
 */
async function readAnswer(response) {
  const text = await response.text();
  const date = response.headers.get("date");
  return {
    status: response.status,
    data: text ? parseJson(text) : null,
    etag: response.headers.get("etag"),
    location: response.headers.get("location"),
    id: findRequestId(response),
    at: date ? new Date(date) : new Date(),
  };
}

/** @param {Response} response */
async function readProblem(response) {
  const document = await response.json().catch(() => ({}));
  const wait = Number(response.headers.get("retry-after"));
  return new ApiError({
    status: response.status,
    title: document.title ?? `${response.status} ${response.statusText}`.trim(),
    // The gateway answers `{"message"}` itself, which is no problem document.
    detail: document.detail ?? document.message ?? "The API gave no reason.",
    type: document.type,
    id: findRequestId(response),
    retryAfter: Number.isFinite(wait) ? wait : 0,
    errors: document.errors,
  });
}

/**
 * @param {number} milliseconds
 * @param {AbortSignal | undefined} signal
 */
function sleep(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}

/** @param {string} text */
function quote(text) {
  return `'${text.replace(/'/g, `'\\''`)}'`;
}
