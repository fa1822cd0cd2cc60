// What test_typed_clients.py reads and writes with the TypeScript client; it prints the results as JSON.
import createClient from "openapi-fetch";
import type { paths } from "../../../clients/typescript/api.d.ts";
import { growCity, parseExactly, writeExactly } from "../../../examples/clients/places.mts";

const BIG = '{"population":9007199254740993,"area":0.5,"note":"9007199254740993"}';
const PRODUCT = '{"price":"1234567890123456789.50"}';
const sent: string[] = [];

async function answer(request: Request): Promise<Response> {
  if (request.method !== "GET") sent.push(await request.text());
  const text = request.url.includes("/products/") ? PRODUCT : BIG;
  return new Response(text, { headers: { "Content-Type": "application/json" } });
}

const client = createClient<paths>({ baseUrl: "http://api", fetch: answer });
const city = { country: "japan", region: "kanto", state: "tokyo", city: "tokyo" };
const place = await client.GET("/places/{country}/{region}/{state}/{city}", {
  params: { path: city },
});
const product = await client.GET("/products/{song}", { params: { path: { song: "heroes" } } });
const population: number | null | undefined = place.data?.population;
const price: string | undefined = product.data?.price;
await client.PUT("/products/{song}", {
  params: { path: { song: "heroes" } },
  body: { genre: "Rock", price: 0.30000000000000001 },
});
const grown = await growCity(client, city, 2n);
const kept = writeExactly(parseExactly(BIG));
console.log(JSON.stringify({ population: String(population), price, sent, grown: String(grown), isKept: kept === BIG }));
