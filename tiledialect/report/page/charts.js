"use strict";
// What all charts share: making them, keys that move them, and their common options.
{
  let charts = [];

  report.forgetCharts = () => {
    for (const { chart, watcher } of charts) {
      watcher.disconnect();
      chart.dispose();
    }
    charts = [];
  };

  // A chart in a box of that height; `label` is what a screen reader says of it.
  report.chart = (height, label, option) => {
    const box = report.make("div", {
      class: "chart",
      role: "img",
      "aria-label": label,
      tabindex: 0,
    });
    box.style.height = height + "px";
    queueMicrotask(() => {
      const chart = echarts.init(box, null, { renderer: "canvas" });
      chart.setOption(option);
      const watcher = new ResizeObserver(() => chart.resize());
      watcher.observe(box);
      charts.push({ chart, watcher });
      box.chart = chart;
      box.dispatchEvent(new Event("ready"));
    });
    if (option.dataZoom)
      box.addEventListener("keydown", (event) => zoomByKey(box, event));
    return box;
  };

  const window_of = (box) => {
    const zoom = box.chart.getOption().dataZoom[0];
    return [zoom.start, zoom.end];
  };

  const show = (box, start, end) =>
    box.chart.dispatchAction({
      type: "dataZoom",
      dataZoomIndex: 0,
      start: Math.max(0, start),
      end: Math.min(100, end),
    });

  const zoomByKey = (box, event) => {
    const [start, end] = window_of(box);
    const width = end - start;
    const steps = {
      "+": [start + width / 4, end - width / 4],
      "=": [start + width / 4, end - width / 4],
      "-": [start - width / 2, end + width / 2],
      ArrowLeft: [start - Math.min(width / 4, start), end - Math.min(width / 4, start)],
      ArrowRight: [
        start + Math.min(width / 4, 100 - end),
        end + Math.min(width / 4, 100 - end),
      ],
      0: [0, 100],
    };
    if (!(event.key in steps)) return;
    event.preventDefault();
    show(box, ...steps[event.key]);
  };

  // Buttons that do what the keys do.
  report.zoomButtons = (box, ...more) => {
    const press = (key) => () =>
      zoomByKey(box, { key, preventDefault: () => undefined });
    return report.make(
      "div",
      { class: "controls" },
      report.button("Zoom in", press("+")),
      report.button("Zoom out", press("-")),
      report.button("◀", press("ArrowLeft")),
      report.button("▶", press("ArrowRight")),
      report.button("Whole program", press("0")),
      ...more,
    );
  };

  report.zoomTo = (box, from, to) =>
    box.chart.dispatchAction({
      type: "dataZoom",
      dataZoomIndex: 0,
      startValue: from,
      endValue: to,
    });

  report.axis = (colours, more) => ({
    nameTextStyle: { color: colours.quiet },
    axisLabel: { color: colours.quiet, hideOverlap: true },
    axisLine: { lineStyle: { color: colours.line } },
    axisTick: { lineStyle: { color: colours.line } },
    splitLine: { lineStyle: { color: colours.line, opacity: 0.5 } },
    ...more,
  });

  report.tooltip = (colours, more) => ({
    backgroundColor: colours.card,
    borderColor: colours.line,
    textStyle: { color: colours.text },
    confine: true,
    transitionDuration: 0,
    ...more,
  });

  report.sliders = (colours) => [
    {
      type: "slider",
      xAxisIndex: 0,
      filterMode: "weakFilter",
      height: 22,
      bottom: 6,
      textStyle: { color: colours.quiet },
      borderColor: colours.line,
      fillerColor: colours.line,
      backgroundColor: colours.card,
      handleStyle: { color: colours.card, borderColor: colours.quiet },
      moveHandleStyle: { color: colours.quiet, opacity: 0.6 },
      emphasis: {
        handleStyle: { borderColor: colours.accent },
        moveHandleStyle: { color: colours.accent },
      },
      showDataShadow: false,
      labelFormatter: (value) => report.short(value),
    },
    {
      type: "inside",
      xAxisIndex: 0,
      filterMode: "weakFilter",
      zoomOnMouseWheel: "ctrl",
    },
  ];

  report.base = (colours) => ({
    animation: false,
    backgroundColor: "transparent",
    color: colours.series,
    textStyle: {
      color: colours.text,
      fontFamily: getComputedStyle(document.body).fontFamily,
      fontSize: 12,
    },
    aria: { enabled: false },
  });
}
