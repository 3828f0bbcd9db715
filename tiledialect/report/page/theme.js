"use strict";
// Colours from the style sheet, so that charts follow the theme of the system.
{
  const variable = (name) =>
    getComputedStyle(document.documentElement)
      .getPropertyValue("--" + name)
      .trim();

  report.colours = () => ({
    page: variable("page"),
    card: variable("card"),
    line: variable("line"),
    text: variable("text"),
    quiet: variable("quiet"),
    warn: variable("warn"),
    accent: variable("accent"),
    compute: variable("compute"),
    onCompute: variable("on-compute"),
    exchange: variable("exchange"),
    wait: variable("wait"),
    hatch: variable("hatch"),
    series: variable("series").split(" "),
    heat: variable("heat").split(" "),
  });

  // Diagonal stripes: what waits is told from what works without any colour.
  report.stripes = (background, line, gap) => {
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = gap;
    const context = canvas.getContext("2d");
    context.fillStyle = background;
    context.fillRect(0, 0, gap, gap);
    context.strokeStyle = line;
    context.lineWidth = 1;
    context.beginPath();
    for (const shift of [-gap, 0, gap]) {
      context.moveTo(shift, gap);
      context.lineTo(shift + gap, 0);
    }
    context.stroke();
    return { image: canvas, repeat: "repeat" };
  };

  report.swatch = (fill, text) => {
    const swatch = report.make("span", { class: "swatch" });
    swatch.style.background =
      typeof fill === "string" ? fill : `url(${fill.image.toDataURL()})`;
    return report.make("span", {}, swatch, text);
  };
}
