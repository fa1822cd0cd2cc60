// Leaves stop words out of what a reader types into the search.
//
// The theme's search adds a wildcard to each word before it drops stop words. So "How do I redrive
// records?" would find every page with a word that begins with "do" or "i".
"use strict";

const STOP_WORDS = new Set(
  ("a about after all an and any are as at be by can do does each for from get happens how i if in into is it "
    + "its like make mean much my need not of on or should so than that the their then there to up use was what "
    + "when where which who why will with you your").split(" "),
);

function dropStopWords(query) {
  const words = query.split(/\s+/);
  const kept = words.filter((word) => !STOP_WORDS.has(word.toLowerCase().replace(/\W/g, "")));
  return kept.length ? kept.join(" ") : query;
}

if (typeof module === "object") {
  module.exports = { dropStopWords };
} else {
  const QUERY = 2; // the type of message by which the page asks its search worker
  const post = Worker.prototype.postMessage;
  Worker.prototype.postMessage = function postQuery(message, ...rest) {
    const isQuery = message && message.type === QUERY && typeof message.data === "string";
    const sent = isQuery ? { ...message, data: dropStopWords(message.data) } : message;
    return post.call(this, sent, ...rest);
  };
}
