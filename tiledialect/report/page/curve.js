"use strict";
// The curve: cycles against the budget of a tile, every plan a point.
{
  const symbols = [
    "circle",
    "rect",
    "triangle",
    "diamond",
    "pin",
    "arrow",
    "roundRect",
  ];

  // Cases that differ in their budget alone, each list sorted by budget.
  const lines = () => {
    const found = new Map();
    for (const item of report.data.cases) {
      const f = item.fields;
      if (f.budget_bytes === null) continue;
      const words = [];
      if (report.data.sweeps.length > 1) words.push(item.sweep);
      if (f.batch !== null) words.push("batch " + f.batch);
      words.push(
        ...[f.precision, f.blocks > 1 ? f.blocks + " blocks" : ""].filter(Boolean),
      );
      const name = words.join(", ") || f.workload;
      if (!found.has(name)) found.set(name, []);
      found.get(name).push(item);
    }
    for (const items of found.values())
      items.sort((a, b) => a.fields.budget_bytes - b.fields.budget_bytes);
    return found;
  };

  const point = (item, cycles) => ({ value: [item.fields.budget_bytes, cycles], item });

  const planPoints = (items) => {
    const holder = items.find((item) => item.curve.length);
    return holder ? holder.curve.map((value) => ({ value })) : [];
  };

  const seriesOf = (name, items, index, colours) => {
    const colour = colours.series[index % colours.series.length];
    const symbol = symbols[index % symbols.length];
    const some = (figure) => items.filter((item) => item.fields[figure] !== null);
    const common = { type: "line", symbol, itemStyle: { color: colour } };
    return [
      {
        ...common,
        name,
        symbolSize: 10,
        step: "end",
        lineStyle: { color: colour, width: 2 },
        data: some("cycles").map((item) => point(item, item.fields.cycles)),
      },
      {
        ...common,
        name: name + ", estimated",
        symbolSize: 8,
        step: "end",
        itemStyle: { color: colours.page, borderColor: colour, borderWidth: 2 },
        lineStyle: { color: colour, width: 1, type: "dashed" },
        data: some("estimated_cycles").map((item) =>
          point(item, item.fields.estimated_cycles),
        ),
      },
      {
        ...common,
        name: name + ", every plan",
        step: "end",
        symbolSize: 5,
        lineStyle: { color: colour, width: 1, type: "dotted" },
        data: planPoints(items),
      },
      {
        ...common,
        type: "scatter",
        name: name + ", no plan",
        symbol:
          "path://M0,2 L2,0 L6,4 L10,0 L12,2 L8,6 L12,10 L10,12 L6,8 L2,12 L0,10 L4,6 Z",
        symbolSize: 12,
        symbolOffset: [0, -14 * index],
        data: items
          .filter((item) => item.fields.cycles === null)
          .map((item) => point(item, 0)),
      },
    ].filter((series) => series.data.length);
  };

  const tipOf = ({ data, seriesName }) => {
    if (!data.item)
      return report.tip(seriesName, [
        ["estimated cycles", report.count(data.value[1])],
        ["from a budget of", report.count(data.value[0]) + " bytes on"],
      ]);
    const f = data.item.fields;
    const pairs = [["budget", `${f.budget} (${report.count(f.budget_bytes)} bytes)`]];
    if (f.cycles === null) {
      pairs.push([f.status, f.reason || ""]);
      if (f.smallest_budget)
        pairs.push(["smallest budget that works", report.size(f.smallest_budget)]);
    } else {
      pairs.push(
        ["simulated cycles", report.count(f.cycles)],
        ["estimated cycles", report.count(f.estimated_cycles)],
        ["placed bytes", report.count(f.placed_bytes)],
      );
    }
    return report.tip(`${data.item.sweep}: ${f.name}`, pairs);
  };

  // Where the axis begins and ends: a little beyond the budgets.
  const span = (series) => {
    const budgets = series.flatMap((one) => one.data.map(({ value }) => value[0]));
    return { min: Math.min(...budgets) / 1.12, max: Math.max(...budgets) * 1.12 };
  };

  const ticks = ({ min, max }) => {
    const values = [];
    for (let value = 1024; value <= max; value *= 2)
      if (value >= min) values.push(value);
    return values;
  };

  const option = (series, colours) => {
    const range = span(series);
    return {
      ...report.base(colours),
      grid: { left: 78, right: 24, top: 70, bottom: 56 },
      legend: {
        type: "scroll",
        top: 0,
        data: series.map((one) => one.name),
        textStyle: { color: colours.text },
        pageTextStyle: { color: colours.text },
        pageIconColor: colours.text,
      },
      tooltip: report.tooltip(colours, { trigger: "item", formatter: tipOf }),
      xAxis: report.axis(colours, {
        type: "log",
        logBase: 2,
        name: "Budget of a tile",
        nameLocation: "middle",
        nameGap: 34,
        ...range,
        axisLabel: {
          color: colours.quiet,
          customValues: ticks(range),
          formatter: report.kibibytes,
        },
        axisTick: { customValues: ticks(range), lineStyle: { color: colours.line } },
        minorSplitLine: { show: false },
      }),
      yAxis: report.axis(colours, {
        type: "value",
        name: "Cycles",
        min: 0,
        axisLabel: { color: colours.quiet, formatter: report.count },
      }),
      series,
    };
  };

  const rowOf = ({ sweep, fields: f }) => [
    sweep,
    f.name,
    report.count(f.budget_bytes),
    report.count(f.cycles),
    report.count(f.estimated_cycles),
    report.count(f.placed_bytes),
    f.status === "ok"
      ? "ok"
      : `${f.status}${f.smallest_budget ? `; ${report.count(f.smallest_budget)} bytes work` : ""}`,
  ];

  report.views.push({
    name: "curve",
    title: "Curve",
    show: (panel) => {
      const colours = report.colours();
      const found = [...lines()];
      if (!found.length) return panel.append("No case has a budget.");
      const series = found.flatMap(([name, items], index) =>
        seriesOf(name, items, index, colours),
      );
      panel.append(
        report.make("h2", {}, "Cycles against the budget of a tile"),
        report.make(
          "p",
          { class: "quiet" },
          "Full marks are simulated, hollow ones estimated; small ones are all plans that some budget asks for, by estimate, where tile-report --curves looked for them. A cross below is a budget without a plan.",
        ),
        report.chart(
          460,
          "Cycles against budget; the table below has the same figures",
          option(series, colours),
        ),
        report.table(
          [
            ["Sweep", false],
            ["Case", false],
            ["Budget, bytes", true],
            ["Cycles", true],
            ["Estimated", true],
            ["Placed bytes", true],
            ["Ended", false],
          ],
          report.data.cases.map(rowOf),
        ),
      );
      return undefined;
    },
  });
}
