#include "gui/views/output/view_picture.hpp"

#include <QBuffer>
#include <QPainter>
#include <QPdfWriter>
#include <QSvgGenerator>
#include <QWidget>

#include "experiments/input/files/files.hpp"
#include "experiments/input/files/output_file.hpp"
#include "experiments/show/pictures/picture.hpp"

namespace penstock {
namespace {

void draw_on(QPaintDevice& device, QWidget& view) {
  QPainter painter(&device);
  view.render(&painter);
}

void draw_as(PictureFormat format, QWidget& view, QBuffer& bytes) {
  if (format == PictureFormat::png) {
    view.grab().save(&bytes, "PNG");
  } else if (format == PictureFormat::svg) {
    QSvgGenerator generator;
    generator.setOutputDevice(&bytes);
    generator.setSize(view.size());
    generator.setViewBox(view.rect());
    draw_on(generator, view);
  } else {
    QPdfWriter writer(&bytes);
    writer.setPageSize(QPageSize(QSizeF(view.width(), view.height()), QPageSize::Point));
    writer.setPageMargins({});
    writer.setResolution(72);
    draw_on(writer, view);
  }
}

}  // namespace

void write_picture(QWidget& view, const std::string& path, Existing replaced) {
  const PictureFormat format = picture_format(path);
  QBuffer bytes;
  bytes.open(QIODevice::WriteOnly);
  draw_as(format, view, bytes);
  write_file(path, marked(format, bytes.data().toStdString()), replaced);
}

void export_view(TimelineCanvas& canvas, const std::string& path) {
  canvas.finish();
  write_picture(canvas, path, Existing::any);
}

}  // namespace penstock
