"use strict";
// Figures as texts, and elements made without any text being read as HTML.
const report = { views: [] };

report.data = JSON.parse(document.getElementById("data").textContent);

report.count = (value) =>
  value === null || value === undefined
    ? "–"
    : Math.round(value).toLocaleString("en-US");

report.size = (bytes) => {
  if (bytes === null || bytes === undefined) return "–";
  if (bytes >= 1024 && bytes % 1024 === 0) return report.count(bytes / 1024) + " KiB";
  return report.count(bytes) + " bytes";
};

report.kibibytes = (bytes) =>
  (bytes / 1024).toLocaleString("en-US", { maximumFractionDigits: 1 }) + " KiB";

report.off = (estimate, value) => {
  if (estimate === null || estimate === undefined || !value) return "–";
  const percent = ((estimate - value) / value) * 100;
  return (percent < 0 ? "−" : "+") + Math.abs(percent).toFixed(1) + " %";
};

report.short = (value) => {
  const few = { maximumFractionDigits: 1 };
  if (Math.abs(value) >= 1e6) return (value / 1e6).toLocaleString("en-US", few) + " M";
  if (Math.abs(value) >= 1e4) return (value / 1e3).toLocaleString("en-US", few) + " k";
  return report.count(value);
};

report.plural = (number, word) =>
  report.count(number) + " " + word + (number === 1 ? "" : "s");

// An element with properties and children; texts become text nodes.
report.make = (tag, properties, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "class") element.className = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat()) {
    if (child === null || child === undefined) continue;
    element.append(child);
  }
  return element;
};

// A tooltip: a title, pairs of label and value, and lines of code.
report.tip = (title, pairs, code) =>
  report.make(
    "div",
    { class: "tip" },
    report.make("b", {}, title),
    pairs.map(([label, value]) => report.make("div", {}, label + ": " + value)),
    (code || []).map((line) => report.make("span", { class: "code" }, line)),
  );

report.select = (label, choices, chosen, change) => {
  const select = report.make(
    "select",
    { onchange: (event) => change(Number(event.target.value)) },
    choices.map((text, index) =>
      report.make("option", { value: index, selected: index === chosen }, text),
    ),
  );
  return report.make("label", {}, label + " ", select);
};

report.button = (text, press) =>
  report.make("button", { type: "button", class: "plain", onclick: press }, text);
