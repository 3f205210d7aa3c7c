#include "gui/views/output/run_output.hpp"

#include <fmt/format.h>

#include <QBuffer>
#include <QPainter>
#include <QPdfWriter>
#include <QSvgGenerator>
#include <QWidget>

#include "experiments/input/files/files.hpp"
#include "experiments/input/files/output_file.hpp"
#include "experiments/input/formats/chrome_trace.hpp"
#include "experiments/plan/sweeps/tables/row_table.hpp"
#include "experiments/program/pages/run_page.hpp"
#include "experiments/run/recordings.hpp"
#include "experiments/show/pictures/picture.hpp"
#include "experiments/show/results/run_summary.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

void draw_on(QPaintDevice& device, QWidget& view) {
  QPainter painter(&device);
  view.render(&painter);
}

/// Letters are as large beside boxes as on the screen: their size is in points.
void draw_as(PictureFormat format, QWidget& view, QBuffer& bytes) {
  if (format == PictureFormat::png) {
    view.grab().save(&bytes, "PNG");
  } else if (format == PictureFormat::svg) {
    QSvgGenerator generator;
    generator.setOutputDevice(&bytes);
    generator.setResolution(view.logicalDpiX());
    generator.setSize(view.size());
    generator.setViewBox(view.rect());
    draw_on(generator, view);
  } else {
    QPdfWriter writer(&bytes);
    const double points = 72.0 / view.logicalDpiX();  // a pixel
    writer.setPageSize(QPageSize(QSizeF(view.size()) * points, QPageSize::Point));
    writer.setPageMargins({});
    writer.setResolution(view.logicalDpiX());
    draw_on(writer, view);
  }
}

}  // namespace

void export_run(const ViewedRun& run, const std::string& path) {
  const bool is_run = path.ends_with(".timeline") || path.find(".json") != std::string::npos;
  if (is_run && !run.plan.class_names.empty()) {
    throw UsageError(path + ": lanes of a trace are no run; they go into a page or a picture");
  }
  if (path.ends_with(".timeline")) {
    return write_file(path, recording_text(run.plan, run.timeline, run.title), Existing::any);
  }
  if (path.ends_with(".html")) {
    OutputFile file(path, Existing::any);
    write_page(timeline_page({run.title, run.text, run.plan, run.timeline, run.report, run.memory}),
               [&](std::string_view piece) { file.write(piece); });
    return file.publish();
  }
  if (path.ends_with(".json") || path.ends_with(".json.gz")) {
    OutputFile file(path, Existing::any);
    write_chrome_trace(run.plan, run.costs, run.timeline, run.title,
                       [&](std::string_view piece) { file.write(piece); });
    return file.publish();
  }
  write_file(path, draw_run(picture_format(path), run.plan, run.timeline, run.title),
             Existing::any);
}

std::string csv_of(const Area& area, const PaintedRun& run) {
  const Plan& plan = run.run->plan;
  const Timeline& times = run.run->as_it_ran().timeline;
  std::string text = "rank,op,stage,pass,microbatch,begin_us,end_us\n";
  for (std::uint32_t rank = area.first_rank; rank < area.end_rank; ++rank) {
    if (rank >= run.lanes->ranks.size()) break;
    if (!area.has(rank)) continue;
    for (const Track& track : run.lanes->ranks[rank].compute) {
      track.for_each_between(area.begin, area.end, [&](std::int64_t, std::int64_t, TaskId task) {
        const WorkClass& work = plan.class_of(task);
        // Of ops with names no more is known.
        const std::string what =
            is_lanes(*run.run) ? ",,"
                               : fmt::format("{},{},{}", index(work.stage), letters(work.pass),
                                             microbatch_of(*run.run, task));
        text += fmt::format("{},{},{},{},{}\n", rank, spreadsheet_cell(task_text(plan, task)), what,
                            text_us(times.begin[task]), text_us(times.end[task]));
      });
    }
  }
  return text;
}

void write_picture(QWidget& view, const std::string& path, Existing replaced) {
  const PictureFormat format = picture_format(path);
  QBuffer bytes;
  bytes.open(QIODevice::WriteOnly);
  draw_as(format, view, bytes);
  write_file(path, marked(format, bytes.data().toStdString()), replaced);
}

void export_view(TimelineCanvas& canvas, const std::string& path) {
  canvas.forget_pointer();
  canvas.finish();
  write_picture(canvas, path, Existing::any);
}

}  // namespace penstock
