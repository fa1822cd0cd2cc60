// The round trip of test_clients.py with the TypeScript client; it prints what it has seen as JSON.
import {
  addCall,
  addContact,
  listCalls,
  openClient,
  ProblemError,
  readContact,
  renameContact,
} from "../../../examples/clients/contacts.mts";

declare const process: { argv: string[] };
const [, , url, token] = process.argv;
const client = openClient(url, token);

async function problemOf(answer: Promise<unknown>) {
  try {
    await answer;
  } catch (error) {
    if (error instanceof ProblemError) return error.problem;
    throw error;
  }
}

const key = crypto.randomUUID();
const contact = await addContact(client, "Mika", key);
const again = await addContact(client, "Mika", key);
for (const seconds of [10, 20, 30]) await addCall(client, contact.id, seconds);
const { response } = await client.PATCH("/contacts/{id}", {
  params: { path: { id: contact.id }, header: { "If-Match": '"99"' } },
  body: { name: "Late" },
});

async function readCalls(): Promise<number[]> {
  const calls = await Array.fromAsync(listCalls(client, contact.id, 2));
  return calls.map((call) => call.seconds);
}

// A list follows its items after a moment.
const patience = Date.now() + 60_000;
let calls = await readCalls();
while (calls.length < 3 && Date.now() < patience) calls = await readCalls();
console.log(
  JSON.stringify({
    contact,
    again,
    read: await readContact(client, contact.id),
    renamed: await renameContact(client, contact.id, "Mika Yamada"),
    calls,
    late: response.status,
    missing: await problemOf(readContact(client, "none")),
    invalid: await problemOf(addCall(client, contact.id, -1)),
  }),
);
