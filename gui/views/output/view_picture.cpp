#include "gui/views/output/view_picture.hpp"

#include <QBuffer>
#include <QPainter>
#include <QPdfWriter>
#include <QSvgGenerator>

#include "experiments/files/files.hpp"
#include "experiments/pictures/picture.hpp"

namespace penstock {
namespace {

void draw_on(QPaintDevice& device, TimelineCanvas& canvas) {
  QPainter painter(&device);
  canvas.render(&painter);
}

void draw_as(PictureFormat format, TimelineCanvas& canvas, QBuffer& bytes) {
  if (format == PictureFormat::png) {
    canvas.grab().save(&bytes, "PNG");
  } else if (format == PictureFormat::svg) {
    QSvgGenerator generator;
    generator.setOutputDevice(&bytes);
    generator.setSize(canvas.size());
    generator.setViewBox(canvas.rect());
    draw_on(generator, canvas);
  } else {
    QPdfWriter writer(&bytes);
    writer.setPageSize(QPageSize(QSizeF(canvas.width(), canvas.height()), QPageSize::Point));
    writer.setPageMargins({});
    writer.setResolution(72);
    draw_on(writer, canvas);
  }
}

}  // namespace

void export_view(TimelineCanvas& canvas, const std::string& path) {
  const PictureFormat format = picture_format(path);
  canvas.finish();
  QBuffer bytes;
  bytes.open(QIODevice::WriteOnly);
  draw_as(format, canvas, bytes);
  write_file(path, bytes.data().toStdString());
}

}  // namespace penstock
