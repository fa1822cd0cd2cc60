// Rules for the console's own modules: mistakes, and names that nothing uses.
const RULES = Object.fromEntries(
  [
    "no-undef", "no-unused-vars", "no-var", "prefer-const", "eqeqeq", "no-eval", "no-implied-eval",
    "no-new-func", "no-shadow", "no-fallthrough", "no-unreachable", "no-dupe-keys", "no-self-assign",
    "no-constant-condition", "no-unsafe-finally", "no-console", "no-throw-literal", "no-cond-assign",
    "no-template-curly-in-string", "array-callback-return", "no-promise-executor-return",
  ].map((name) => [name, "error"]),
); // prettier-ignore
const BROWSER = [
  "AbortController", "AbortSignal", "Blob", "BroadcastChannel", "CompositionEvent", "DOMException",
  "Event", "HTMLButtonElement", "HTMLDialogElement", "HTMLElement", "HTMLInputElement", "Intl", "ResizeObserver",
  "Response", "TextDecoder", "TextEncoder", "URL", "URLSearchParams", "addEventListener", "atob",
  "btoa", "cancelAnimationFrame", "clearInterval", "clearTimeout", "close", "crypto", "document",
  "fetch", "getComputedStyle", "history", "localStorage", "location", "matchMedia", "navigator",
  "open", "performance", "removeEventListener", "requestAnimationFrame", "sessionStorage",
  "setInterval", "setTimeout", "window",
]; // prettier-ignore

export default [
  {
    files: ["**/*.js"],
    ignores: ["**/vendor/**"],
    languageOptions: {
      ecmaVersion: 2024,
      sourceType: "module",
      globals: Object.fromEntries(BROWSER.map((name) => [name, "readonly"])),
    },
    rules: RULES,
  },
];
