"use strict";
// The memory map of a class of tiles: addresses against steps, and bytes alive.
{
  const NOTHING_SHARE = "4%";

  const purposes = (program) =>
    [...new Set(program.memory.buffers.map((buffer) => buffer.purpose))].sort();

  // The rectangles of a class: [first step, end, low address, high address, buffer].
  const rectangles = (program, index) => {
    const { fixed_bytes, steps, support } = program;
    const found = [[0, steps.length, fixed_bytes, fixed_bytes + support.bytes, -1]];
    program.memory.buffers.forEach((buffer, number) => {
      if (!buffer.classes.includes(index)) return;
      for (const [first, end] of buffer.live)
        found.push([first, end, buffer.address, buffer.address + buffer.bytes, number]);
    });
    return found;
  };

  // Stretches of addresses where nothing ever lies, long enough to be worth leaving out.
  const gaps = (rows, top) => {
    const used = rows.map((row) => [row[2], row[3]]).sort((a, b) => a[0] - b[0]);
    const total = used.reduce((sum, [low, high]) => sum + high - low, 0);
    const found = [];
    let reached = 0;
    for (const [low, high] of [...used, [top, top]]) {
      if (low - reached > total / 20)
        found.push({ start: reached, end: low, gap: NOTHING_SHARE });
      reached = Math.max(reached, high);
    }
    return found;
  };

  const tipOf = (item, row) => {
    const { program } = item;
    if (row[4] < 0) {
      const { support } = program;
      return report.tip("Support", [
        ["bytes", report.count(support.bytes)],
        ["code", report.count(support.code)],
        ["exchange rows", report.count(support.rows)],
        ["control program", report.count(support.program)],
        ["profile", report.count(support.profile)],
      ]);
    }
    const buffer = program.memory.buffers[row[4]];
    const source = item.source[buffer.location];
    return report.tip(
      `${buffer.name} (${buffer.purpose})`,
      [
        [
          "size",
          `${report.count(buffer.bytes)} bytes (${report.kibibytes(buffer.bytes)})`,
        ],
        [
          "addresses",
          `${report.count(buffer.address)} to ${report.count(buffer.address + buffer.bytes)}`,
        ],
        [
          "alive",
          buffer.live.map(([first, end]) => `steps ${first} to ${end - 1}`).join(", "),
        ],
        ["region", buffer.region],
        ["on", report.plural(buffer.tiles, "tile")],
        ["from", buffer.location],
      ],
      source ? [source] : [],
    );
  };

  const draw = (program, names, colours) => {
    const striped = report.stripes(colours.card, colours.hatch, 7);
    return (params, api) => {
      const low = api.coord([api.value(0), api.value(2)]);
      const high = api.coord([api.value(1), api.value(3)]);
      const shape = echarts.graphic.clipRectByRect(
        {
          x: low[0],
          y: high[1],
          width: high[0] - low[0],
          height: Math.max(low[1] - high[1], 2),
        },
        {
          x: params.coordSys.x,
          y: params.coordSys.y,
          width: params.coordSys.width,
          height: params.coordSys.height,
        },
      );
      if (!shape) return undefined;
      const buffer = program.memory.buffers[api.value(4)];
      const fill = buffer
        ? colours.series[names.indexOf(buffer.purpose) % colours.series.length]
        : striped;
      const text = buffer ? buffer.name : "support";
      const rect = {
        type: "rect",
        shape,
        style: { fill, stroke: colours.page, lineWidth: 1 },
        emphasis: { style: { stroke: colours.text, lineWidth: 2 } },
      };
      if (shape.height < 12 || shape.width < 30) return rect;
      const letters = Math.floor((shape.width - 10) / 7);
      rect.textContent = {
        style: {
          text:
            text.length > letters
              ? text.slice(0, Math.max(1, letters - 1)) + "…"
              : text,
          fontSize: 11,
          fill: "#000000",
          backgroundColor: "rgba(255,255,255,0.72)",
          lineHeight: 14,
          padding: [0, 4],
          borderRadius: 3,
        },
      };
      rect.textConfig = { position: "inside" };
      return rect;
    };
  };

  const stepAxis = (program, colours, more) =>
    report.axis(colours, {
      type: "value",
      min: 0,
      max: program.steps.length,
      minInterval: 1,
      ...more,
    });

  const mapOption = (item, index, names, colours, whole) => {
    const { program } = item;
    const rows = rectangles(program, index);
    return {
      ...report.base(colours),
      grid: { left: 84, right: 20, top: 34, bottom: 66 },
      tooltip: report.tooltip(colours, {
        formatter: ({ value }) => tipOf(item, value),
      }),
      xAxis: stepAxis(program, colours),
      yAxis: report.axis(colours, {
        type: "value",
        name: "Address",
        min: 0,
        max: program.memory_bytes,
        breaks: whole ? [] : gaps(rows, program.memory_bytes),
        breakArea: {
          zigzagAmplitude: 0,
          itemStyle: { color: colours.card, borderColor: colours.line, opacity: 1 },
          expandOnClick: false,
        },
        axisLabel: { color: colours.quiet, formatter: report.count, hideOverlap: true },
      }),
      dataZoom: report.sliders(colours),
      series: [
        {
          type: "custom",
          renderItem: draw(program, names, colours),
          encode: { x: [0, 1], y: [2, 3] },
          data: rows,
          clip: true,
        },
      ],
    };
  };

  // One value a step, drawn over its whole width. The library drops corners less than
  // two pixels apart, which would leave a slope: so the line has a gap where it rises or
  // falls by less than a fiftieth of `most`.
  const stairs = (values, most) =>
    values.flatMap((value, step) => {
      const change = Math.abs(value - (values[step - 1] ?? value));
      const gap = change && change < most / 50 ? [[step, null]] : [];
      return [...gap, [step, value], [step + 1, value]];
    });

  const bytesOption = (program, index, colours) => {
    const steps = program.steps.length;
    const fullest = program.steps.map((_, step) =>
      Math.max(...program.memory.live.map((row) => row[step])),
    );
    const line = (name, values, colour, style) => ({
      type: "line",
      name,
      symbol: "none",
      data: stairs(values, program.budget),
      itemStyle: { color: colour },
      lineStyle: { color: colour, ...style },
    });
    const level = (name, value, colour, type) =>
      line(name, Array(steps).fill(value), colour, { type, width: 2 });
    return {
      ...report.base(colours),
      grid: { left: 84, right: 20, top: 46, bottom: 42 },
      legend: { top: 0, textStyle: { color: colours.text } },
      tooltip: report.tooltip(colours, {
        trigger: "axis",
        axisPointer: { snap: false },
        formatter: (points) => {
          const step = Math.min(steps - 1, Math.floor(points[0].axisValue));
          return report.tip(
            `Step ${step}: ${program.steps[step].name}`,
            [
              ["this class", program.memory.live[index][step]],
              ["fullest tile", fullest[step]],
              ["footprint", program.footprint],
              ["budget", program.budget],
            ].map(([name, bytes]) => [name, `${report.count(bytes)} bytes`]),
          );
        },
      }),
      xAxis: stepAxis(program, colours, {
        name: "Step",
        nameLocation: "middle",
        nameGap: 26,
      }),
      yAxis: report.axis(colours, {
        type: "value",
        name: "Bytes",
        min: 0,
        axisLabel: { color: colours.quiet, formatter: report.count },
      }),
      series: [
        level("budget", program.budget, colours.warn, "dashed"),
        level("footprint", program.footprint, colours.quiet, "dotted"),
        line("fullest tile", fullest, colours.compute, { width: 4 }),
        line("this class", program.memory.live[index], colours.exchange, { width: 2 }),
      ],
    };
  };

  const classOfTile = (program, tile) => {
    let end = 0;
    for (const [index, run] of program.class_runs) {
      end += run;
      if (tile < end) return index;
    }
    return 0;
  };

  const bufferTable = (item, index) => {
    const own = item.program.memory.buffers.filter((buffer) =>
      buffer.classes.includes(index),
    );
    own.sort((a, b) => a.address - b.address);
    return report.table(
      [
        ["Buffer", false],
        ["Purpose", false],
        ["Bytes", true],
        ["Address", true],
        ["Alive in steps", false],
        ["Region", false],
        ["From", false],
      ],
      own.map((buffer) => [
        buffer.name,
        buffer.purpose,
        report.count(buffer.bytes),
        report.count(buffer.address),
        buffer.live.map(([first, end]) => `${first} to ${end - 1}`).join(", "),
        buffer.region,
        report.make("span", { class: "code" }, buffer.location),
      ]),
      { tall: true },
    );
  };

  const show = (panel, item, index, whole) => {
    const colours = report.colours();
    const { program } = item;
    const names = purposes(program);
    const again = (chosen, all) => {
      report.forgetCharts();
      panel.replaceChildren();
      show(panel, item, chosen, all);
    };
    const tile = report.make("input", {
      type: "number",
      min: 0,
      max: program.tiles - 1,
      value: program.classes[index].first,
      onchange: (event) =>
        again(classOfTile(program, Number(event.target.value)), whole),
    });
    const check = report.make("input", {
      type: "checkbox",
      checked: whole,
      onchange: (event) => again(index, event.target.checked),
    });
    const peak = Math.max(...program.memory.live[index]);
    const at = program.memory.live[index].indexOf(peak);
    const map = report.chart(
      500,
      "Memory map: addresses against steps; the table below has the same buffers",
      mapOption(item, index, names, colours, whole),
    );
    panel.append(
      report.make("h2", {}, `Memory of ${report.className(program, index)}`),
      report.make(
        "div",
        { class: "controls" },
        report.select(
          "Class",
          program.classes.map((_, i) => report.className(program, i)),
          index,
          (chosen) => again(chosen, whole),
        ),
        report.make("label", {}, "of tile ", tile),
        report.make("label", {}, check, " with empty addresses"),
      ),
      report.make(
        "p",
        { class: "quiet" },
        `${report.count(peak)} bytes alive at most, in step ${at} (${program.steps[at].name}); ${report.count(program.memory.ever[index])} bytes ever occupied, of a budget of ${report.count(program.budget)}. Support included.`,
      ),
      report.make(
        "div",
        { class: "legend" },
        names.map((name, i) =>
          report.swatch(colours.series[i % colours.series.length], name),
        ),
        report.swatch(report.stripes(colours.card, colours.hatch, 7), "support"),
      ),
      report.zoomButtons(map),
      map,
      report.make("h2", {}, "Bytes alive"),
      report.chart(
        280,
        "Bytes alive in each step beside budget and footprint",
        bytesOption(program, index, colours),
      ),
      report.make("h2", {}, "Buffers"),
      bufferTable(item, index),
    );
  };

  report.views.push({
    name: "memory",
    title: "Memory",
    ofCase: true,
    show: (panel, item) => {
      const peaks = item.program.memory.ever;
      show(panel, item, peaks.indexOf(Math.max(...peaks)), false);
    },
  });
}
