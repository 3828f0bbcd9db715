"use strict";
// Tabs, the choice of a case, and the address: #view/case.
{
  const state = { view: 0, case: 0 };
  const tabs = document.getElementById("tabs");
  const picker = document.getElementById("picker");
  const views = document.getElementById("views");
  const named = (item) =>
    report.data.sweeps.length > 1
      ? `${item.sweep}: ${item.fields.name}`
      : item.fields.name;

  report.caseNames = () =>
    report.data.cases.map(
      (item) => named(item) + (item.program ? "" : ` (${item.fields.status})`),
    );

  const readAddress = () => {
    const [view, number] = location.hash.slice(1).split("/");
    const index = report.views.findIndex((item) => item.name === view);
    if (index >= 0) state.view = index;
    if (report.data.cases[Number(number)]) state.case = Number(number);
  };

  const go = (view, number) => {
    state.view = view;
    state.case = number;
    history.replaceState(null, "", `#${report.views[view].name}/${number}`);
    draw();
  };

  const moveByKey = (event) => {
    const last = report.views.length - 1;
    const to = {
      ArrowRight: state.view === last ? 0 : state.view + 1,
      ArrowLeft: state.view === 0 ? last : state.view - 1,
      Home: 0,
      End: last,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    go(to, state.case);
    tabs.children[to].focus();
  };

  const drawTabs = () => {
    const had = tabs.contains(document.activeElement);
    tabs.replaceChildren(
      ...report.views.map((view, index) =>
        report.make(
          "button",
          {
            type: "button",
            role: "tab",
            id: "tab-" + view.name,
            "aria-selected": String(index === state.view),
            "aria-controls": "panel",
            tabindex: index === state.view ? 0 : -1,
            onclick: () => go(index, state.case),
            onkeydown: moveByKey,
          },
          view.title,
        ),
      ),
    );
    if (had) tabs.children[state.view].focus();
  };

  // Why there is nothing to draw of a case without a program.
  const absence = (item) =>
    report.make(
      "div",
      { class: "card" },
      report.make("h3", {}, `${named(item)}: ${item.fields.status}`),
      report.make("p", {}, item.fields.reason || "This case left no package."),
      item.fields.smallest_budget
        ? report.make(
            "p",
            {},
            `The smallest budget that works: ${report.size(item.fields.smallest_budget)}.`,
          )
        : null,
    );

  const draw = () => {
    const view = report.views[state.view];
    const choosing = picker.contains(document.activeElement);
    report.forgetCharts();
    drawTabs();
    picker.replaceChildren();
    const panel = report.make("div", {
      id: "panel",
      role: "tabpanel",
      "aria-labelledby": "tab-" + view.name,
    });
    views.replaceChildren(panel);
    if (!view.ofCase) return view.show(panel);
    const item = report.data.cases[state.case];
    if (!item) return panel.append("The sweep has no case.");
    picker.append(
      report.select("Case", report.caseNames(), state.case, (index) =>
        go(state.view, index),
      ),
    );
    if (choosing) picker.querySelector("select").focus();
    if (!item.program) return panel.append(absence(item));
    return view.show(panel, item, state.case);
  };

  const first = report.data.cases.findIndex((item) => item.program);
  state.case = Math.max(0, first);
  readAddress();
  window.addEventListener("hashchange", () => {
    readAddress();
    draw();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  draw();
}
