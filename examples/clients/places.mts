// Whole numbers of any size by openapi-fetch and the types of docs/how-to/generate-clients.md.
import type { Client } from "openapi-fetch";
import type { paths } from "../../clients/typescript/api.d.ts";
import { ProblemError } from "./contacts.mts";

type City = paths["/places/{country}/{region}/{state}/{city}"]["get"]["parameters"]["path"];
const ADDRESS = "/places/{country}/{region}/{state}/{city}";

/** The value of a JSON text. A whole number that JavaScript's `number` does not have is a bigint. */
export function parseExactly(text: string): unknown {
  const revive = (_: string, value: unknown, { source }: { source: string }): unknown =>
    /^-?\d+$/.test(source) && !Number.isSafeInteger(value) ? BigInt(source) : value;
  return JSON.parse(text, revive as (key: string, value: unknown) => unknown);
}

/** The JSON text of a value, with the digits of each bigint. */
export function writeExactly(value: unknown): string {
  const { rawJSON } = JSON as unknown as { rawJSON: (text: string) => unknown };
  return JSON.stringify(value, (_, one) => (typeof one === "bigint" ? rawJSON(String(one)) : one));
}

/** Add to the population of a city, whatever its size. */
export async function growCity(client: Client<paths>, city: City, born: bigint): Promise<bigint> {
  const params = { path: city };
  const { data, error } = await client.GET(ADDRESS, { params, parseAs: "text" });
  if (error) throw new ProblemError(error);
  const { population } = parseExactly(data) as { population: number | bigint | null };
  const grown = BigInt(population ?? 0) + born;
  const body = { population: grown as unknown as number };
  const change = await client.PATCH(ADDRESS, { params, body, bodySerializer: writeExactly });
  if (change.error) throw new ProblemError(change.error);
  return grown;
}
