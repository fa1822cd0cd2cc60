/** Polls: all of them, and one whose bars move while it is looked at. */

import { useEffect, useRef, useState } from "preact/hooks";
import { html } from "console/html.js";
import { fillRequest, findOperation, findQuery, isPoll, operations, resolveItem } from "console/catalog.js";
import { usePages } from "console/load.js";
import { isAborted, makeKey, request } from "console/request.js";
import { makeHash } from "console/router.js";
import { renderNumber } from "console/format.js";
import { Bars } from "console/parts/bars.js";
import { CurlButton } from "console/parts/curl.js";
import { Icon } from "console/parts/icons.js";
import { Freshness, PageHeader } from "console/parts/page.js";
import { Empty, ErrorState, Skeleton } from "console/parts/states.js";
import { announce, showToast } from "console/parts/status.js";
import { PagedTable } from "console/parts/table.js";
import { chooseColumns } from "console/columns.js";

const EVERY_MS = 1_000;
const MOST_MS = 30_000;
const ANNOUNCE_EVERY_MS = 15_000;
const PAGE = 50;

/** @param {{route: import("console/router.js").Route}} props */
export default function PollsPage({ route }) {
  const show = [...operations.value.values()].flatMap(({ queries }) => queries).find(isPoll);
  if (!show) return html`<div class="page"><${Empty} isPage title="There are no polls here" /></div>`;
  const id = route.path[1];
  return id ? html`<${Poll} key=${id} show=${show} id=${id} />` : html`<${Polls} show=${show} />`;
}

/** @param {{show: import("console/catalog.js").Query}} props */
function Polls({ show }) {
  const entity = show.entity ?? "";
  const query = findQuery(entity, "list");
  const create = findQuery(entity, "create");
  const filled = query && fillRequest(query, { limit: PAGE });
  const list = usePages(
    filled ? async (cursor, signal) => (await request(filled.path, { query: { ...filled.query, cursor }, signal })).data : null,
    [filled?.path],
  );
  return html`<div class="page full">
    <${PageHeader} title="Polls" about="Votes are counted exactly, or fast as sharded likes.">
      ${filled && html`<${CurlButton} path=${filled.path} query=${filled.query} />`}
      ${create && html`<a class="button primary" href=${makeHash(["new", create.operation.id])}><${Icon} name="plus" />New poll</a>`}
    <//>
    <${PagedTable}
      label="Polls"
      columns=${query ? chooseColumns(resolveItem(query.operation)) : []}
      list=${list}
      getHref=${(/** @type {any} */ row) => makeHash(["polls", row.id])}
      empty=${html`<${Empty} title="There are no polls yet">Open one with <b>New poll</b>, and vote in it.<//>`}
    />
    <${Freshness} at=${list.at} kind="list" />
  </div>`;
}

/** @param {{show: import("console/catalog.js").Query, id: string}} props */
function Poll({ show, id }) {
  const filled = fillRequest(show, { id, live: "true" });
  const { result, at, error, wait, readNow } = usePoll(filled);
  const [voting, setVoting] = useState("");
  const vote = findVote(show);
  const [voted, setVoted] = useState("");
  const send = async (/** @type {string} */ candidate) => {
    const target = vote && fillRequest(vote, { id, poll: id });
    if (!target) return;
    setVoting(candidate);
    try {
      // An exact poll takes the key as the voter; a fast one cannot tell a repeat, and refuses it.
      const key = result.counting === "fast" ? undefined : makeKey();
      const answer = await request(target.path, { method: "POST", body: { candidate }, key });
      setVoted(candidate);
      if (answer.status === 202) showToast("The vote may have been counted: the API had no answer in time.");
      else announce(`Voted for ${candidate}`);
      readNow();
    } catch (/** @type {any} */ problem) {
      showToast(problem.message, "failed");
    } finally {
      setVoting("");
    }
  };
  const rows = Object.entries(result?.totals ?? {}).map(([name, value]) => ({
    name,
    value: /** @type {number} */ (value),
    action:
      vote && result.open
        ? html`<button type="button" class="button small" disabled=${Boolean(voting)} aria-label=${`Vote for ${name}`} onClick=${() => send(name)}>
            ${voting === name ? "Voting…" : "Vote"}
          </button>`
        : null,
  }));
  return html`<div class="page narrow">
    <${PageHeader} title=${result ? rows.map(({ name }) => name).sort().join(" · ").slice(0, 120) : "Poll"} name="Poll" trail=${[{ text: "Polls", href: "#/polls" }]}>
      ${filled && html`<${CurlButton} path=${filled.path} query=${filled.query} />`}
    <//>
    ${error && html`<${ErrorState} error=${error} onRetry=${readNow} compact />`}
    ${!result && !error && html`<${Skeleton} rows=${4} />`}
    ${result &&
    html`<div class="poll">
      <p class="poll-line">
        <b class="number total">${renderNumber(result.votes)}</b> votes
        <span class=${`badge ${result.open ? "good" : ""}`}>${result.open ? "open" : "closed"}</span>
        <span class="badge" title=${result.counting === "fast" ? "Sharded likes: fast, and exact after the rollup" : "One ballot a voter"}>${result.counting}</span>
        ${voted && html`<span class="muted"><${Icon} name="check" /> You voted for <bdi>${voted}</bdi></span>`}
      </p>
      <${Bars} label="Votes by candidate" rows=${rows} showShares />
    </div>`}
    <${Freshness} at=${at} isLive />
    ${wait > EVERY_MS && html`<p class="muted small">Reads again every ${Math.round(wait / 1000)} s.</p>`}
  </div>`;
}

/**
 * The result of a poll each second: only while it is seen, one request at a time, less often after
 * errors. A screen reader is told the leader at most every 15 seconds.
 * @param {{path: string, query: any} | null} target
 */
function usePoll(target) {
  const [shown, setShown] = useState(/** @type {{result: any, at: Date | null, error: any, wait: number}} */ ({ result: null, at: null, error: null, wait: EVERY_MS }));
  const readNow = useRef(() => undefined);
  useEffect(() => {
    const controller = new AbortController();
    let timer = 0;
    let wait = EVERY_MS;
    let isReading = false;
    let announcedAt = 0;
    const schedule = () => {
      clearTimeout(timer);
      if (!controller.signal.aborted && !document.hidden) timer = window.setTimeout(read, wait);
    };
    const read = async () => {
      if (isReading || !target) return;
      isReading = true;
      clearTimeout(timer);
      try {
        const answer = await request(target.path, { query: target.query, signal: controller.signal });
        wait = EVERY_MS;
        setShown({ result: answer.data, at: answer.at, error: null, wait });
        if (Date.now() - announcedAt > ANNOUNCE_EVERY_MS) {
          announcedAt = Date.now();
          announce(`${answer.data.votes} votes${answer.data.leader ? `, ${answer.data.leader} leads` : ""}`);
        }
      } catch (/** @type {any} */ error) {
        if (isAborted(error)) return;
        wait = Math.min(MOST_MS, Math.max(wait * 2, (error.retryAfter ?? 0) * 1000));
        setShown((before) => ({ ...before, error, wait }));
      } finally {
        isReading = false;
        schedule();
      }
    };
    readNow.current = () => {
      wait = EVERY_MS;
      void read();
      return undefined;
    };
    const follow = () => (document.hidden ? clearTimeout(timer) : void read());
    document.addEventListener("visibilitychange", follow);
    void read();
    return () => {
      controller.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", follow);
    };
  }, [target?.path]);
  return { ...shown, readNow: () => readNow.current() };
}

/** The request of a vote without a name, below the poll. @param {import("console/catalog.js").Query} show */
function findVote(show) {
  const shape = show.operation.path.replace(/\{\w+\}/, "{}");
  const vote = [...operations.value.values()].find(
    ({ method, path }) => method === "POST" && path.replace(/\{\w+\}/, "{}") === `${shape}/votes`,
  );
  return vote ? (findOperation(vote.id)?.queries[0] ?? null) : null;
}
