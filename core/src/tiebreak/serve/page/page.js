"use strict";

const PAUSE = 350; // ms without typing before the page asks by itself
const byId = (id) => document.getElementById(id);
let timer = 0;
let running = null;

const EXAMPLES = [
  { kind: "choice", text: "Who should handle this?", lines: "facilities: building and fire safety\nIT support: devices and software\nsales" },
  { kind: "noul", text: "Is somebody in danger?", lines: "" },
];

function addQuestion(example) {
  const node = byId("question").content.firstElementChild.cloneNode(true);
  node.querySelector(".kind").value = example.kind;
  node.querySelector(".text").value = example.text;
  node.querySelector(".lines").value = example.lines;
  node.querySelector(".remove").addEventListener("click", () => { node.remove(); later(); });
  node.querySelector(".kind").addEventListener("change", () => { fit(node); later(); });
  fit(node);
  byId("questions").append(node);
}

function fit(node) {
  node.querySelector(".options").hidden = node.querySelector(".kind").value === "noul";
}

function asState(text) {
  try {
    const value = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : text;
  } catch {
    return text;
  }
}

function asQuestion(node) {
  const kind = node.querySelector(".kind").value;
  const question = { type: kind, instructions: node.querySelector(".text").value };
  const lines = node.querySelector(".lines").value.split("\n").map((line) => line.trim()).filter(Boolean);
  if (kind === "choice") {
    // A Map and not an object: an object would move names like "2" to the front.
    const options = new Map(lines.map((line) => {
      const colon = line.indexOf(": ");
      return colon < 0 ? [line, null] : [line.slice(0, colon), line.slice(colon + 2)];
    }));
    question.criteria = options;
  } else if (kind === "score") {
    question.criteria = lines;
  }
  return question;
}

function encode(value) {
  if (value instanceof Map) {
    return `{${[...value].map(([key, item]) => `${JSON.stringify(key)}:${encode(item)}`).join(",")}}`;
  }
  if (Array.isArray(value)) return `[${value.map(encode).join(",")}]`;
  if (value && typeof value === "object") return encode(new Map(Object.entries(value)));
  return JSON.stringify(value);
}

function headers() {
  const key = byId("key").value;
  return { "content-type": "application/json", ...(key ? { authorization: `Bearer ${key}` } : {}) };
}

function later() {
  clearTimeout(timer);
  if (byId("live").checked) timer = setTimeout(ask, PAUSE);
}

async function ask() {
  clearTimeout(timer);
  running?.abort(); // the gateway then gives the place in its queue to the next request
  const mine = running = new AbortController();
  const asked = [...document.querySelectorAll(".question")].map(asQuestion);
  const questions = new Map(asked.map((question, index) => [`q${index + 1}`, question]));
  const body = encode(new Map([["model", "jev-latest"], ["state", asState(byId("state").value)], ["questions", questions]]));
  const started = performance.now();
  try {
    const response = await fetch("v1/systemone", { method: "POST", headers: headers(), body, signal: mine.signal });
    const reply = await response.json();
    if (response.ok) show(asked, reply, performance.now() - started);
    else complain(explained(response, reply));
  } catch (error) {
    if (error.name !== "AbortError") complain(`The gateway does not answer: ${error.message}`);
  }
}

function explained(response, reply) {
  if (response.status === 401) { byId("access").hidden = false; byId("access").open = true; }
  const detail = reply.detail;
  if (Array.isArray(detail)) return detail.map((item) => `${item.loc.slice(1).join(" › ")} ${item.msg}`.trim()).join("; ");
  return detail?.message ?? `HTTP ${response.status}`;
}

function complain(text) {
  byId("problem").textContent = text;
  byId("problem").hidden = false;
}

function make(tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

function outcomes(question, answer) {
  if (answer.type === "noul") return [["yes", answer.noul], ["no", 1 - answer.noul]];
  if (answer.type === "score") return question.criteria.map((level, index) => [level, answer.probabilities[index]]);
  return [...question.criteria.keys()].map((name) => [name, answer.probabilities[name]]);
}

function show(asked, reply, wall) {
  byId("problem").hidden = true;
  const extra = reply.x_tiebreak;
  byId("answers").replaceChildren(...asked.map((question, index) => {
    const name = `q${index + 1}`;
    return block(question, reply.answers[name], extra.answers[name]);
  }));
  figures(reply, extra, wall);
}

function block(question, answer, beside) {
  const node = make("div", "answer");
  node.append(make("h3", "", question.instructions || "Which option fits best?"));
  const rows = outcomes(question, answer);
  const top = Math.max(...rows.map(([, p]) => p));
  for (const [label, p] of rows) {
    const row = make("div", p === top ? "bar best" : "bar");
    const fill = make("i");
    fill.style.width = `${100 * p}%`;
    row.append(fill, make("span", "", label), make("span", "", `${(100 * p).toFixed(1)} %`));
    node.append(row);
  }
  const notes = [];
  if (answer.type === "score") notes.push(`score ${answer.score.toFixed(2)} of 0 to ${rows.length - 1}`);
  if (beside?.near_tie) notes.push("near tie");
  if (beside?.approximate) notes.push(beside.approximate);
  if (beside && beside.coverage !== null) notes.push(`the options hold ${(100 * beside.coverage).toFixed(1)} % of the model's mass`);
  if (notes.length) node.append(make("p", "note", notes.join(" · ")));
  return node;
}

function figures(reply, extra, wall) {
  const ms = (value) => (value === null || value === undefined ? "not said" : `${value.toFixed(1)} ms`);
  const cache = extra.cache;
  const timings = extra.timings_ms;
  const rows = [["model", reply.model], ["engine", `${extra.engine}${extra.layout ? `, layout ${extra.layout}` : ""}`]];
  if (cache) {
    const reused = cache.reused_tokens === null ? "" : `, ${cache.reused_tokens} of ${extra.input_tokens ?? "?"} tokens reused`;
    rows.push(["cache", `${cache.status}${reused}`]);
  }
  if (timings) rows.push(["prefill", ms(timings.prefill)], ["queue", ms(timings.queue)], ["decision", ms(timings.total)]);
  rows.push(["with the network", ms(wall)]);
  for (const warning of extra.warnings) rows.push(["warning", warning]);
  byId("figures").replaceChildren(...rows.flatMap(([name, value]) => [make("dt", "", name), make("dd", "", value)]));
  byId("figures").hidden = false;
}

async function greet() {
  try {
    const health = await (await fetch("health")).json();
    byId("served").textContent = `${health.model} on ${health.engine}: ${health.status}`;
    byId("access").hidden = !health.key;
    if (!health.key) ask();
  } catch {
    byId("served").textContent = "the gateway does not answer";
  }
}

EXAMPLES.forEach(addQuestion);
document.addEventListener("input", later);
byId("add").addEventListener("click", () => { addQuestion({ kind: "noul", text: "", lines: "" }); });
byId("ask").addEventListener("click", ask);
greet();
