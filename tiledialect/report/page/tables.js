"use strict";
// HTML tables, and the first view: the tables that the command prints.
{
  // `columns` are [head, is a figure]; `rows` hold texts or elements.
  report.table = (columns, rows, options) => {
    const flush = (index) => (columns[index][1] ? "figure" : null);
    const line = (cells, kind, extra) =>
      report.make(
        "tr",
        extra || {},
        cells.map((cell, index) =>
          report.make(
            kind,
            { class: flush(index), scope: kind === "th" ? "col" : null },
            cell,
          ),
        ),
      );
    const total = options && options.total;
    const table = report.make(
      "table",
      {},
      report.make(
        "thead",
        {},
        line(
          columns.map(([head]) => head),
          "th",
        ),
      ),
      report.make(
        "tbody",
        {},
        rows.map((row) => line(row, "td")),
        total ? line(total, "td", { class: "total" }) : null,
      ),
    );
    const tall = options && options.tall ? " tall" : "";
    return report.make(
      "div",
      { class: "scroll" + tall, tabindex: tall ? 0 : null },
      table,
    );
  };

  const section = (table) => [
    report.make("h2", {}, table.title),
    report.table(
      table.columns.map((head, index) => [head, table.figures[index]]),
      table.rows,
    ),
    table.notes.map((note) => report.make("p", { class: "quiet" }, note)),
  ];

  report.views.push({
    name: "summary",
    title: "Summary",
    show: (panel) => {
      if (!report.data.tables.length) panel.append("There is no finished case.");
      panel.append(...report.data.tables.flatMap(section).flat());
    },
  });
}
