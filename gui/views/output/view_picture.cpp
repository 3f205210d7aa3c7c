#include "gui/views/output/view_picture.hpp"

#include <QPainter>
#include <QPdfWriter>
#include <QSvgGenerator>

#include "experiments/pictures/picture.hpp"
#include "sim/base/error.hpp"

namespace penstock {

void export_view(TimelineCanvas& canvas, const std::string& path) {
  canvas.finish();
  const QString file = QString::fromStdString(path);
  bool written = true;
  switch (picture_format(path)) {
    case PictureFormat::png:
      written = canvas.grab().save(file, "PNG");
      break;
    case PictureFormat::svg: {
      QSvgGenerator generator;
      generator.setFileName(file);
      generator.setSize(canvas.size());
      generator.setViewBox(canvas.rect());
      QPainter painter;
      written = painter.begin(&generator);
      if (written) canvas.render(&painter);
      break;
    }
    case PictureFormat::pdf: {
      QPdfWriter writer(file);
      writer.setPageSize(QPageSize(QSizeF(canvas.width(), canvas.height()), QPageSize::Point));
      writer.setPageMargins({});
      writer.setResolution(72);
      QPainter painter;
      written = painter.begin(&writer);
      if (written) canvas.render(&painter);
      break;
    }
  }
  if (!written) throw UsageError(path + ": cannot be written");
}

}  // namespace penstock
