import { h, render } from "preact";

const element = document.getElementById("console");
if (element) render(h("h1", null, "Console"), element);
