"use strict";
// The plan: every group with its grid, storage and relayouts; two plans side by side.
{
  const cycles = (row) => row.compute + row.exchange;

  const planTable = (group) =>
    report.table(
      [
        ["Step", false],
        ["What", false],
        ["Where", false],
        ["Estimate", true],
      ],
      group.rows.map((row) => [
        row.kind + (row.count > 1 ? ` × ${row.count}` : ""),
        report.make(
          "div",
          {},
          row.what,
          report.make("div", { class: "quiet" }, "%" + row.value),
        ),
        report.make(
          "div",
          {},
          row.where,
          report.make(
            "details",
            {},
            report.make("summary", {}, "layout"),
            report.make("div", { class: "code" }, `<${row.layout}>`),
          ),
        ),
        cycles(row) ? report.count(cycles(row)) : "",
      ]),
    );

  // Estimate beside simulation of the steps that come from a group.
  const stepTable = (steps) => {
    const found = new Map();
    for (const step of steps) {
      const key = `${step.name} (${step.kind})`;
      const row = found.get(key) || { count: 0, cycles: 0, estimate: 0 };
      found.set(key, {
        count: row.count + 1,
        cycles: row.cycles + step.cycles,
        estimate:
          step.estimate === null || row.estimate === null
            ? null
            : row.estimate + step.estimate,
      });
    }
    const all = steps.reduce((sum, step) => sum + step.cycles, 0);
    const known = steps.every((step) => step.estimate !== null);
    const estimate = known ? steps.reduce((sum, step) => sum + step.estimate, 0) : null;
    return report.table(
      [
        ["Program step", false],
        ["Estimate", true],
        ["Simulated", true],
        ["Off", true],
      ],
      [...found].map(([name, row]) => [
        name + (row.count > 1 ? ` × ${row.count}` : ""),
        report.count(row.estimate),
        report.count(row.cycles),
        report.off(row.estimate, row.cycles),
      ]),
      {
        total: [
          "all",
          report.count(estimate),
          report.count(all),
          report.off(estimate, all),
        ],
      },
    );
  };

  const groupCard = (item, group) => {
    const steps = item.program.steps.filter((step) => step.location === group.location);
    const words = [];
    if (group.grid)
      words.push(`Grid ${group.grid}: ${report.plural(group.tiles, "tile")}`);
    if (group.chunks > 1) words.push(`in ${group.chunks} chunks`);
    if (group.steps > 1) words.push(`in ${group.steps} steps in time`);
    return report.make(
      "section",
      { class: "card" },
      report.make("h3", {}, group.name),
      report.make("div", { class: "code quiet" }, group.location),
      report.make("div", { class: "code" }, item.source[group.location] || ""),
      report.make("p", {}, words.join(", ")),
      planTable(group),
      termTables(item, group),
      steps.length ? stepTable(steps) : null,
    );
  };

  const facts = (pairs) =>
    report.make(
      "dl",
      { class: "facts" },
      pairs.flatMap(([label, value]) => [
        report.make("dt", {}, label),
        report.make("dd", {}, value),
      ]),
    );

  // Any JSON as nested lists of facts: certificates and explanations grow fields.
  const tree = (value) => {
    if (value === null || typeof value !== "object")
      return typeof value === "number" ? value.toLocaleString("en-US") : String(value);
    const entries = Object.entries(value);
    const plain =
      Array.isArray(value) &&
      value.every((one) => one === null || typeof one !== "object");
    if (plain) return value.map(tree).join(", ");
    const list = facts(entries.map(([label, inner]) => [label, tree(inner)]));
    if (entries.length <= 8) return list;
    return report.make(
      "details",
      {},
      report.make(
        "summary",
        {},
        report.plural(entries.length, "entry").replace(/ys$/, "ies"),
      ),
      list,
    );
  };

  // How many candidates of each group every filter dropped.
  const filterTable = (filters) => {
    const flat = filters.map(({ dropped, ...rest }) => ({ ...rest, ...dropped }));
    const names = [...new Set(flat.flatMap(Object.keys))].filter(
      (name) => name !== "name",
    );
    const order = ["grids", "same_block", "tiles", "candidates"];
    names.sort((a, b) => (order.indexOf(a) + 1 || 9) - (order.indexOf(b) + 1 || 9));
    return report.table(
      [["Group", false], ...names.map((name) => [name.replace(/_/g, " "), true])],
      flat.map((row) => [row.name, ...names.map((name) => report.count(row[name]))]),
    );
  };

  const explanation = (explain) => [
    report.make("h3", {}, "What was dropped, and why"),
    report.make(
      "p",
      { class: "quiet" },
      "Grids and candidates of each group, and how many fell: to others of the same block, for more tiles than there are, as not asked for, as dominated, for their bytes, for their cycles.",
    ),
    explain.filters ? filterTable(explain.filters) : tree(explain),
  ];

  // What a certificate says; fields of other names follow as they are.
  const certificateFacts = ({
    status,
    cycles,
    bytes,
    bound,
    candidates,
    labels,
    ...more
  }) => {
    const pairs = [
      ["status", status],
      ["estimate", `${report.count(cycles)} cycles, ${report.count(bytes)} bytes`],
    ];
    if (bound && bound.cycles)
      pairs.push([
        "proven bound",
        `${report.count(bound.cycles)} cycles (${report.off(bound.cycles, cycles)})`,
      ]);
    if (candidates !== undefined)
      pairs.push(["candidates priced", report.count(candidates)]);
    if (labels !== undefined) pairs.push(["partial plans kept", report.count(labels)]);
    return facts([
      ...pairs,
      ...Object.entries(more).map(([name, value]) => [name, tree(value)]),
    ]);
  };

  const searchCard = (item) => {
    const { certificate } = item.fields;
    return report.make(
      "section",
      { class: "card" },
      report.make("h3", {}, "The search"),
      certificate
        ? certificateFacts(certificate)
        : report.make("p", { class: "quiet" }, "The case has no certificate."),
      item.explain ? explanation(item.explain) : null,
    );
  };

  // The terms of a group's estimate, where there is an explanation.
  const termTables = (item, group) => {
    const groups =
      (item.explain && item.explain.plan && item.explain.plan.groups) || [];
    const terms = groups.find((one) => one.name === group.name);
    if (!terms) return null;
    const rows = (table) =>
      Object.entries(table || {}).map(([name, value]) => [name, report.count(value)]);
    return report.make(
      "details",
      {},
      report.make("summary", {}, "terms of the estimate"),
      report.table(
        [
          ["Cycles", false],
          ["", true],
        ],
        rows(terms.cycles),
      ),
      report.table(
        [
          ["Bytes alive", false],
          ["", true],
        ],
        [
          ["resident", report.count(terms.resident)],
          ...rows(terms.live),
          ["control words", report.count(terms.rows)],
        ],
      ),
    );
  };

  // One plan; without the operations of rung 3 its steps are what is known of it.
  const plan = (item) => {
    if (!item.program)
      return report.make(
        "p",
        {},
        `${item.fields.name}: ${item.fields.reason || item.fields.status}`,
      );
    const f = item.fields;
    const groups = item.plan || [];
    return report.make(
      "div",
      {},
      report.make("h2", {}, f.name),
      facts([
        ["budget", `${f.budget} (${report.count(f.budget_bytes)} bytes)`],
        [
          "cycles",
          `${report.count(item.program.cycles)} simulated, ${report.count(item.program.estimated_cycles)} estimated (${report.off(item.program.estimated_cycles, item.program.cycles)})`,
        ],
        [
          "bytes",
          `${report.count(item.program.footprint)} placed, ${report.count(f.estimated_bytes)} estimated`,
        ],
      ]),
      searchCard(item),
      groups.length
        ? groups.map((group) => groupCard(item, group))
        : [
            report.make(
              "p",
              { class: "quiet" },
              "The case has no plan.mlir; these are its steps.",
            ),
            stepTable(item.program.steps),
          ],
    );
  };

  const show = (panel, item, other) => {
    const choices = ["none", ...report.caseNames()];
    const again = (index) => {
      panel.replaceChildren();
      show(panel, item, index - 1);
    };
    const second = report.data.cases[other];
    panel.append(
      report.make(
        "div",
        { class: "controls" },
        report.select("Beside it", choices, other + 1, again),
      ),
      report.make(
        "div",
        { class: second ? "columns" : "" },
        plan(item),
        second ? plan(second) : null,
      ),
    );
  };

  report.views.push({
    name: "plan",
    title: "Plan",
    ofCase: true,
    show: (panel, item) => show(panel, item, -1),
  });
}
