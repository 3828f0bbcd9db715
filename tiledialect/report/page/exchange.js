"use strict";
// The exchange: phases against their bounds, busiest ports, traffic from tile to tile.
{
  const KINDS = ["words in", "words out", "control words"];

  const largest = (phase) => Math.max(...phase.bound);
  const decides = (phase) => KINDS[phase.bound.indexOf(largest(phase))];
  const over = (phase) =>
    largest(phase) ? (phase.length / largest(phase)).toFixed(2) : "–";

  const tipOf = (item, phase) => {
    const source = item.source[phase.location];
    return report.tip(
      `Step ${phase.step}: ${phase.name}`,
      [
        ["from", phase.location],
        ["length", `${report.count(phase.length)} cycles, ${over(phase)} of the bound`],
        [
          "bounds",
          KINDS.map((kind, i) => `${kind} ${report.count(phase.bound[i])}`).join(", "),
        ],
        ["messages", report.count(phase.messages)],
        ["words received", report.count(phase.words)],
        [
          "busiest receiver",
          `tile ${phase.busiest_in[0]}, ${report.plural(phase.busiest_in[1], "word")}`,
        ],
        [
          "busiest sender",
          `tile ${phase.busiest_out[0]}, ${report.plural(phase.busiest_out[1], "word")}`,
        ],
      ],
      source ? [source] : [],
    );
  };

  const barsOption = (item, colours) => {
    const { phases } = item.program.exchange;
    const bars = (name, values, color) => ({
      type: "bar",
      name,
      data: values,
      itemStyle: { color },
      barMaxWidth: 26,
      barGap: "0%",
    });
    return {
      ...report.base(colours),
      grid: { left: 78, right: 20, top: 40, bottom: 84 },
      legend: { top: 0, textStyle: { color: colours.text } },
      tooltip: report.tooltip(colours, {
        trigger: "axis",
        axisPointer: { type: "shadow" },
        formatter: (points) => tipOf(item, phases[points[0].dataIndex]),
      }),
      xAxis: report.axis(colours, {
        type: "category",
        data: phases.map((phase) => `${phase.step} ${phase.name}`),
        axisLabel: {
          color: colours.quiet,
          rotate: 30,
          width: 110,
          overflow: "truncate",
          hideOverlap: true,
        },
      }),
      yAxis: report.axis(colours, {
        type: "value",
        name: "Cycles",
        axisLabel: { color: colours.quiet, formatter: report.count },
      }),
      dataZoom: phases.length > 24 ? report.sliders(colours) : [],
      series: [
        bars(
          "length",
          phases.map((phase) => phase.length),
          colours.exchange,
        ),
        bars("bound", phases.map(largest), colours.compute),
      ],
    };
  };

  const phaseTable = (item) => {
    const { phases } = item.program.exchange;
    const sum = (figure) =>
      report.count(phases.reduce((total, phase) => total + phase[figure], 0));
    return report.table(
      [
        ["Step", true],
        ["Phase", false],
        ["Length", true],
        ["Bound", true],
        ["Length / bound", true],
        ["Bound by", false],
        ["Messages", true],
        ["Words received", true],
        ["Busiest receiver", true],
        ["Busiest sender", true],
        ["Control words", true],
      ],
      phases.map((phase) => [
        String(phase.step),
        phase.name,
        report.count(phase.length),
        report.count(largest(phase)),
        over(phase),
        decides(phase),
        report.count(phase.messages),
        report.count(phase.words),
        `${phase.busiest_in[0]}: ${report.count(phase.busiest_in[1])}`,
        `${phase.busiest_out[0]}: ${report.count(phase.busiest_out[1])}`,
        report.count(phase.controls),
      ]),
      {
        tall: true,
        total: [
          "",
          "all phases",
          sum("length"),
          report.count(phases.reduce((total, phase) => total + largest(phase), 0)),
          "",
          "",
          sum("messages"),
          sum("words"),
          "",
          "",
          "",
        ],
      },
    );
  };

  // The traffic of one name, or of all phases together.
  const traffic = (exchange, index) => {
    if (index < exchange.traffic.length) return exchange.traffic[index];
    const cells = new Map();
    for (const one of exchange.traffic)
      for (const [cell, words] of one.cells)
        cells.set(cell, (cells.get(cell) || 0) + words);
    return {
      words: exchange.traffic.reduce((sum, one) => sum + one.words, 0),
      cells: [...cells],
      ports_in: exchange.ports_in,
      ports_out: exchange.ports_out,
    };
  };

  const heatOption = (exchange, chosen, colours) => {
    const { bins, bin_tiles } = exchange;
    const label = (bin) => (bin_tiles === 1 ? `${bin}` : `${bin * bin_tiles}`);
    const tiles = (bin) =>
      bin_tiles === 1
        ? `tile ${bin}`
        : `tiles ${bin * bin_tiles} to ${(bin + 1) * bin_tiles - 1}`;
    const words = chosen.cells.map(([, amount]) => amount);
    const most = Math.max(1, ...words);
    const edges = [...Array(bins).keys()].map(label);
    const axis = (name, more) =>
      report.axis(colours, {
        type: "category",
        data: edges,
        name,
        nameLocation: "middle",
        nameGap: 40,
        splitLine: { show: false },
        axisLabel: { color: colours.quiet, interval: Math.ceil(bins / 11) - 1 },
        ...more,
      });
    return {
      ...report.base(colours),
      grid: { left: 66, right: 96, top: 10, bottom: 54 },
      tooltip: report.tooltip(colours, {
        formatter: ({ value }) =>
          report.tip(`${report.count(value[3])} words`, [
            ["sent by", tiles(value[1])],
            ["received by", tiles(value[0])],
          ]),
      }),
      xAxis: axis("Received by tile", { nameGap: 30 }),
      yAxis: axis("Sent by tile", { inverse: true, nameGap: 44 }),
      visualMap: {
        min: 0,
        max: Math.max(1, Math.log10(most)),
        dimension: 2,
        calculable: false,
        right: 0,
        top: "middle",
        itemHeight: 220,
        inRange: { color: colours.heat.slice(1) },
        text: [report.count(most), "1"],
        formatter: (power) => report.count(10 ** power),
        textStyle: { color: colours.quiet },
      },
      series: [
        {
          type: "heatmap",
          data: chosen.cells.map(([cell, amount]) => [
            cell % bins,
            Math.floor(cell / bins),
            Math.log10(amount),
            amount,
          ]),
          progressive: 0,
          itemStyle: { borderWidth: 0 },
          emphasis: { itemStyle: { borderColor: colours.text, borderWidth: 1 } },
        },
      ],
    };
  };

  const ports = (title, rows) => [
    report.make("h3", {}, title),
    report.table(
      [
        ["Tile", true],
        ["Words", true],
      ],
      rows
        .filter(([, words]) => words)
        .map(([tile, words]) => [String(tile), report.count(words)]),
    ),
  ];

  const show = (panel, item, index) => {
    const colours = report.colours();
    const { exchange } = item.program;
    if (!exchange.phases.length)
      return panel.append("The program has no exchange phase.");
    const chosen = traffic(exchange, index);
    const names = exchange.traffic.map((one) =>
      one.phases > 1 ? `${one.name} (${one.phases} phases)` : one.name,
    );
    const again = (number) => {
      report.forgetCharts();
      panel.replaceChildren();
      show(panel, item, number);
    };
    const length = exchange.phases.reduce((sum, phase) => sum + phase.length, 0);
    panel.append(
      report.make(
        "h2",
        {},
        `${report.plural(exchange.phases.length, "phase")}, ${report.count(length)} cycles of schedule`,
      ),
      report.make(
        "p",
        { class: "quiet" },
        "The bound is the largest of three that no schedule can beat: words in, words out, control words. Fixed costs of phases are not counted here.",
      ),
      report.chart(
        340,
        "Length and bound of each phase; the table below has the same figures",
        barsOption(item, colours),
      ),
      phaseTable(item),
      report.make("h2", {}, "Traffic from tile to tile"),
      report.make(
        "div",
        { class: "controls" },
        report.select("Phase", [...names, "all phases"], index, again),
      ),
      report.make(
        "p",
        { class: "quiet" },
        `${report.plural(chosen.words, "word")} received. A word that is sent once and received by four tiles counts four times. ${exchange.bin_tiles > 1 ? `A cell is ${exchange.bin_tiles} by ${exchange.bin_tiles} tiles.` : ""}`,
      ),
      report.make(
        "div",
        { class: "columns" },
        report.chart(
          520,
          "Words from each group of tiles to each other",
          heatOption(exchange, chosen, colours),
        ),
        report.make(
          "div",
          {},
          ports("Busiest receivers", chosen.ports_in),
          ports("Busiest senders", chosen.ports_out),
        ),
      ),
    );
    return undefined;
  };

  report.views.push({
    name: "exchange",
    title: "Exchange",
    ofCase: true,
    show: (panel, item) => show(panel, item, item.program.exchange.traffic.length),
  });
}
