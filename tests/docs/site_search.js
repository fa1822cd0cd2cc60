// The search of the built site: its own worker, index and query script, outside a browser.
// node site_search.js SITE < questions (JSON array) > pages of the results (JSON array of arrays)
"use strict";
const fs = require("node:fs");
const path = require("node:path");
const vm = require("node:vm");
const { dropStopWords } = require("../../docs/javascripts/search.js");

const site = process.argv[2];
const folder = path.join(site, "assets/javascripts/workers");
const [worker] = fs.readdirSync(folder).filter((name) => /^search\..*\.js$/.test(name));
const index = JSON.parse(fs.readFileSync(path.join(site, "search/search_index.json"), "utf8"));
const questions = JSON.parse(fs.readFileSync(0, "utf8"));

// What a Web Worker has and the code of the search uses.
let receive;
let answer;
const scope = {
  addEventListener: (_type, listener) => (receive = listener),
  console: { ...console, log: console.error },
  postMessage: (message) => answer(message),
};
scope.self = scope;
vm.runInNewContext(fs.readFileSync(path.join(folder, worker), "utf8"), scope);

// Types of messages: 0 set up, 1 ready, 2 query, 3 result.
function send(type, data) {
  return new Promise((resolve) => {
    answer = resolve;
    receive({ data: { type, data } });
  });
}

async function main() {
  await send(0, { ...index, options: { suggest: false } });
  const results = [];
  for (const question of questions) {
    const { data } = await send(2, dropStopWords(question));
    results.push(data.items.map(([first]) => first.location.split("#")[0]));
  }
  process.stdout.write(JSON.stringify(results));
}

main();
