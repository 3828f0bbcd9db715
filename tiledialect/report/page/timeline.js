"use strict";
// The timeline: what each class of tiles does in each step.
{
  const COMPUTE = 0,
    EXCHANGE = 1,
    WAIT = 2,
    SOME_COMPUTE = 3,
    SOME_EXCHANGE = 4;
  const ROW_HEIGHT = 26;

  report.startsOf = (steps) => {
    const starts = [0];
    for (const step of steps) starts.push(starts[starts.length - 1] + step.cycles);
    return starts;
  };

  report.className = (program, index) => {
    const { tiles, first } = program.classes[index];
    return tiles === 1 ? `tile ${first}` : `${report.count(tiles)} tiles from ${first}`;
  };

  // Stretches [lane, from, to, kind, step]. The fixed cost of a phase comes first.
  const stretches = (program) => {
    const starts = report.startsOf(program.steps);
    const found = [];
    program.steps.forEach((step, number) => {
      const [begin, end] = [starts[number], starts[number + 1]];
      const exchange = step.kind === "exchange";
      found.push([0, begin, end, exchange ? EXCHANGE : COMPUTE, number]);
      program.classes.forEach((_, index) => {
        const busy = step.busy[index];
        const all = begin + (busy ? step.fixed + step.least[index] : 0);
        const some = begin + (busy ? step.fixed + busy : 0);
        const lane = index + 1;
        if (all > begin)
          found.push([lane, begin, all, exchange ? EXCHANGE : COMPUTE, number]);
        if (some > all)
          found.push([
            lane,
            all,
            some,
            exchange ? SOME_EXCHANGE : SOME_COMPUTE,
            number,
          ]);
        if (end > some) found.push([lane, some, end, WAIT, number]);
      });
    });
    return found;
  };

  const fills = (colours) => [
    colours.compute,
    colours.exchange,
    report.stripes(colours.card, colours.wait, 8),
    report.stripes(colours.card, colours.compute, 5),
    report.stripes(colours.card, colours.exchange, 5),
  ];

  const tipOf = (item, lane, number) => {
    const { program } = item;
    const step = program.steps[number];
    const pairs = [
      ["from", step.location],
      [
        "cycles",
        `${report.count(step.cycles)}, estimated ${report.count(step.estimate)} (${report.off(step.estimate, step.cycles)})`,
      ],
    ];
    if (step.fixed)
      pairs.push(["of them fixed cost of the phase", report.count(step.fixed)]);
    pairs.push(["slowest tile", String(step.slowest_tile)]);
    if (lane > 0) {
      const busy = step.busy[lane - 1];
      const least = step.least[lane - 1];
      const range = least === busy ? "" : `${report.count(least)} to `;
      const wait = step.cycles - (busy ? busy + step.fixed : 0);
      pairs.push([
        report.className(program, lane - 1),
        busy
          ? `${range}${report.count(busy)} cycles (tile ${step.slowest[lane - 1]}), then ${report.count(wait)} of wait`
          : "wait all the time",
      ]);
    }
    const source = item.source[step.location];
    return report.tip(`Step ${number}: ${step.name} (${step.kind})`, pairs, [
      ...(source ? [source] : []),
      ...step.codelets.slice(0, 6),
      ...(step.codelets.length > 6 ? [`and ${step.codelets.length - 6} more`] : []),
    ]);
  };

  const draw = (fill, colours, program) => (params, api) => {
    const from = api.coord([api.value(1), api.value(0)]);
    const to = api.coord([api.value(2), api.value(0)]);
    const height = api.size([0, 1])[1] * 0.72;
    const shape = echarts.graphic.clipRectByRect(
      {
        x: from[0],
        y: from[1] - height / 2,
        width: Math.max(to[0] - from[0], 0.5),
        height,
      },
      {
        x: params.coordSys.x,
        y: params.coordSys.y,
        width: params.coordSys.width,
        height: params.coordSys.height,
      },
    );
    if (!shape) return undefined;
    const wide = shape.width > 3;
    const rect = {
      type: "rect",
      shape,
      style: {
        fill: fill[api.value(3)],
        stroke: wide ? colours.page : null,
        lineWidth: wide ? 0.6 : 0,
      },
      emphasis: { style: { stroke: colours.text, lineWidth: 1.5 } },
    };
    if (api.value(0) !== 0 || shape.width < 34) return rect;
    rect.textContent = {
      style: {
        text: program.steps[api.value(4)].name,
        fill: api.value(3) === COMPUTE ? colours.onCompute : "#000000",
        overflow: "truncate",
        width: shape.width - 6,
        fontSize: 11,
      },
    };
    rect.textConfig = { position: "inside" };
    return rect;
  };

  const option = (item, colours) => {
    const { program } = item;
    const lanes = [
      "slowest tile of each step",
      ...program.classes.map((_, i) => report.className(program, i)),
    ];
    return {
      ...report.base(colours),
      grid: { left: 170, right: 20, top: 8, bottom: 66 },
      tooltip: report.tooltip(colours, {
        formatter: ({ value }) => tipOf(item, value[0], value[4]),
      }),
      xAxis: report.axis(colours, {
        type: "value",
        min: 0,
        max: program.cycles,
        axisLabel: {
          color: colours.quiet,
          formatter: report.count,
          hideOverlap: true,
          showMinLabel: false,
          showMaxLabel: false,
        },
      }),
      yAxis: report.axis(colours, {
        type: "category",
        data: lanes,
        inverse: true,
        axisTick: { show: false },
      }),
      dataZoom: report.sliders(colours),
      series: [
        {
          type: "custom",
          renderItem: draw(fills(colours), colours, program),
          encode: { x: [1, 2], y: 0 },
          data: stretches(program),
          clip: true,
        },
      ],
    };
  };

  const legend = (colours) => {
    const [compute, exchange, wait, someCompute, someExchange] = fills(colours);
    return report.make(
      "div",
      { class: "legend" },
      report.swatch(compute, "compute"),
      report.swatch(exchange, "exchange"),
      report.swatch(someCompute, "some tiles of the class compute, others wait"),
      report.swatch(someExchange, "some exchange, others wait"),
      report.swatch(wait, "wait for the slowest"),
    );
  };

  const stepTable = (item, zoom) => {
    const { program } = item;
    const rows = program.steps.map((step, number) => [
      report.make(
        "button",
        {
          type: "button",
          class: "step",
          "aria-label": `Zoom to step ${number}`,
          onclick: () => zoom(number),
        },
        String(number),
      ),
      step.name,
      report.make(
        "span",
        { class: "code", title: item.source[step.location] },
        step.location,
      ),
      step.kind,
      report.count(step.cycles),
      ((step.cycles / program.cycles) * 100).toFixed(1) + " %",
      report.count(step.estimate),
      report.off(step.estimate, step.cycles),
      String(step.slowest_tile),
    ]);
    const sum = program.steps.reduce((total, step) => total + step.cycles, 0);
    return report.table(
      [
        ["Step", true],
        ["Name", false],
        ["From", false],
        ["Kind", false],
        ["Cycles", true],
        ["Share", true],
        ["Estimate", true],
        ["Off", true],
        ["Slowest tile", true],
      ],
      rows,
      {
        tall: true,
        total: [
          "",
          "all steps",
          "",
          "",
          report.count(sum),
          "100 %",
          report.count(program.estimated_cycles),
          report.off(program.estimated_cycles, sum),
          "",
        ],
      },
    );
  };

  report.views.push({
    name: "timeline",
    title: "Timeline",
    ofCase: true,
    show: (panel, item) => {
      const colours = report.colours();
      const { program } = item;
      const starts = report.startsOf(program.steps);
      const height = 90 + ROW_HEIGHT * (program.classes.length + 1);
      const chart = report.chart(
        height,
        "Timeline by class of tiles; the table below has the same steps",
        option(item, colours),
      );
      let shown = -1;
      const zoom = (number) => {
        shown = Math.max(0, Math.min(program.steps.length - 1, number));
        report.zoomTo(chart, starts[shown], starts[shown + 1]);
      };
      chart.addEventListener("ready", () =>
        chart.chart.on("click", ({ value }) => zoom(value[4])),
      );
      const time = program.cycles / program.clock_ghz / 1000;
      panel.append(
        report.make(
          "h2",
          {},
          `${report.count(program.cycles)} cycles in ${report.plural(program.steps.length, "step")}`,
        ),
        report.make(
          "p",
          { class: "quiet" },
          `${time.toFixed(2)} µs at ${program.clock_ghz} GHz on ${program.machine}. A class is the tiles with the same buffers and equal compute. Click a step to zoom to it; with the chart in focus the keys + − 0 and the arrows zoom and move.`,
        ),
        legend(colours),
        report.zoomButtons(
          chart,
          report.button("Previous step", () => zoom(shown - 1)),
          report.button("Next step", () => zoom(shown + 1)),
        ),
        chart,
        report.make("h2", {}, "Steps"),
        stepTable(item, zoom),
      );
    },
  });
}
