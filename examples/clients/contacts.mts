// Contacts by openapi-fetch and the types of docs/how-to/generate-clients.md.
import createClient, { type Client } from "openapi-fetch";
import type { Call, Contact, GatewayMessage, paths, Problem } from "../../clients/typescript/api.d.ts";

/** A problem of the API, or a message of the gateway, which refuses a request on its own. */
export class ProblemError extends Error {
  readonly problem: Problem | GatewayMessage;

  constructor(problem: Problem | GatewayMessage) {
    super(
      "message" in problem
        ? problem.message
        : `${problem.status} ${problem.title}: ${problem.detail}`,
    );
    this.problem = problem;
  }
}

export function openClient(url: string, token: string): Client<paths> {
  return createClient<paths>({ baseUrl: url, headers: { Authorization: `Bearer ${token}` } });
}

/** Create a contact once, however often this is repeated with one key. */
export async function addContact(
  client: Client<paths>,
  name: string,
  idempotencyKey: string,
): Promise<Contact> {
  const { data, error } = await client.POST("/contacts", {
    params: { header: { "Idempotency-Key": idempotencyKey } },
    body: { name, company: "Acme" },
  });
  if (error) throw new ProblemError(error);
  return data;
}

export async function readContact(client: Client<paths>, id: string): Promise<Contact> {
  const { data, error } = await client.GET("/contacts/{id}", { params: { path: { id } } });
  if (error) throw new ProblemError(error);
  return data as Contact; // the whole contact: no `fields` were requested
}

/** Change a contact unless another change comes between the read and the write. */
export async function renameContact(
  client: Client<paths>,
  id: string,
  name: string,
): Promise<Contact> {
  const current = await client.GET("/contacts/{id}", { params: { path: { id } } });
  if (current.error) throw new ProblemError(current.error);
  const etag = current.response.headers.get("ETag") ?? undefined;
  const { data, error } = await client.PATCH("/contacts/{id}", {
    params: { path: { id }, header: { "If-Match": etag } },
    body: { name },
  });
  if (error) throw new ProblemError(error);
  return data;
}

export async function addCall(
  client: Client<paths>,
  contact: string,
  seconds: number,
): Promise<Call> {
  const { data, error } = await client.POST("/contacts/{contact}/calls", {
    params: { path: { contact } },
    body: { direction: "in", seconds },
  });
  if (error) throw new ProblemError(error);
  return data;
}

/** All calls of a contact, page by page: the cursor of the last page is null. */
export async function* listCalls(
  client: Client<paths>,
  contact: string,
  limit = 100,
): AsyncGenerator<Call> {
  let cursor: string | null = null;
  do {
    const query: { limit: number; cursor?: string } = { limit, cursor: cursor ?? undefined };
    const { data, error } = await client.GET("/contacts/{contact}/calls", {
      params: { path: { contact }, query },
    });
    if (error) throw new ProblemError(error);
    yield* data.items;
    cursor = data.cursor;
  } while (cursor !== null);
}
