#include <QFile>
#include <QFileDialog>
#include <QMessageBox>
#include <QRegularExpression>
#include <filesystem>
#include <utility>

#include "experiments/input/files/files.hpp"
#include "experiments/input/files/output_file.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/input/formats/torch_csv.hpp"
#include "experiments/input/orders/torch_comms.hpp"
#include "experiments/input/scenario/document.hpp"
#include "experiments/run/layout/exchanges.hpp"
#include "gui/models/change/moves.hpp"
#include "gui/views/canvas/look.hpp"
#include "gui/views/output/run_output.hpp"
#include "gui/views/window/run_files.hpp"
#include "sim/base/error.hpp"

namespace penstock {

void RunFiles::save_as(const QString& title, const QString& kinds,
                       const std::function<void(const std::string& path)>& write) {
  QFileDialog dialog(&window_, title, {}, kinds);
  dialog.setAcceptMode(QFileDialog::AcceptSave);
  // The first suffix that a filter names: "png" of "PNG (*.png);;SVG (*.svg)".
  const QRegularExpression suffix("\\*\\.(\\w+)");
  const auto choose = [&](const QString& kind) {
    dialog.setDefaultSuffix(suffix.match(kind).captured(1));
  };
  choose(kinds);
  QObject::connect(&dialog, &QFileDialog::filterSelected, &dialog, choose);
  if (dialog.exec() != QDialog::Accepted) return;
  write(QFile::encodeName(dialog.selectedFiles().front()).toStdString());
}

void RunFiles::write_later(const std::string& path, std::function<std::string()> write) {
  if (writing_.busy()) return show_message("Another file is still being written");
  show_message("Writing " + qt_text(path));
  writing_.request(
      [this, path, write = std::move(write)]() -> Background::Done {
        std::string text = "Written: " + path;
        try {
          const std::string more = write();
          if (!more.empty()) text = more;
        } catch (const std::exception& error) {
          text = error.what();
        }
        return [this, text] { show_message(QString::fromUtf8(text.c_str())); };
      },
      Background::patience_ms);
}

void RunFiles::export_dialog() {
  save_as("Export what is seen", "PNG (*.png);;SVG (*.svg);;PDF (*.pdf)",
          [this](const std::string& path) {
            export_view(*canvas(), path);
            show_message("Written: " + qt_text(path));
          });
}

void RunFiles::export_whole_dialog() {
  if (now()->run->file != nullptr) throw UsageError("This run is a file, and too large to be held");
  save_as("Export the whole run",
          "Page to pan and zoom (*.html);;SVG (*.svg);;PNG (*.png);;PDF (*.pdf);;Trace for "
          "Perfetto (*.json *.json.gz);;Timeline "
          "(*.timeline)",
          [this](const std::string& path) {
            write_later(path, [run = now()->run, path] {
              export_run(*run, path);
              return std::string();
            });
          });
}

void RunFiles::export_area_dialog() {
  if (!canvas()->area()) return show_message("Drag over the lanes first: that area is written");
  // Until there is an answer, another run may come in front.
  const Area area = *canvas()->area();
  const PaintedRunPtr run = canvas()->shared_run(area.run);
  save_as("Export the selected area", "CSV (*.csv)", [this, area, run](const std::string& path) {
    write_later(path, [area, run, path] {
      write_file(path, csv_of(area, *run), Existing::any);
      return std::string();
    });
  });
}

void RunFiles::save_scenario_dialog() {
  if (!now()->run->scenario) return save_scenario("");
  save_as("Save as scenario", "Scenario (*.json)",
          [this](const std::string& path) { save_scenario(path); });
}

void RunFiles::save_order_dialog() {
  if (!now()->run->layout) return save_order("");
  save_as("Save the order", "PyTorch order (*.csv)",
          [this](const std::string& path) { save_order(path); });
}

void RunFiles::save_scenario(const std::string& path) {
  const ViewedRunPtr run = now()->run;
  if (!run->scenario) throw UsageError("a recorded run has no scenario to save");
  const std::string folder = std::filesystem::path(path).parent_path().string();
  if (!has_changed_order(*run)) {
    write_file(path, moved_text(*run->scenario, folder), Existing::any);
    return show_message("Written: " + qt_text(path));
  }
  // The order stands in a file beside the scenario.
  const std::filesystem::path order = std::filesystem::path(path).replace_extension(".csv");
  const QString beside = qt_text(order.filename().string());
  if (std::filesystem::exists(order) &&
      QMessageBox::question(&window_, "Save as scenario", beside + " exists. Replace it?") !=
          QMessageBox::Yes) {
    return show_message("Not written, as " + beside + " exists");
  }
  write_later(path, [run, path, folder, order] {
    const TorchCsv csv = write_torch_csv(run->layout->schedule, cells_to_write(*run->layout));
    const std::string why = why_not_in_file(*run->layout);
    if (!why.empty()) throw UsageError(path + ": " + why + ", so this order cannot be saved");
    OutputSet files(Existing::any);  // the user was asked
    files.write(order.string(), csv.text);
    files.write(path, moved_text(*run->scenario, folder, order.filename().string(),
                                 run->layout->placement.chains()));
    files.publish();
    return std::string();
  });
}

void RunFiles::save_order(const std::string& path) {
  const ViewedRunPtr run = now()->run;
  if (!run->layout) throw UsageError("a recorded run has no order to save");
  write_later(path, [run, path] {
    const Schedule& schedule = run->layout->schedule;
    const TorchCsv order = write_torch_csv(schedule, cells_to_write(*run->layout));
    write_file(path, order.text, Existing::any);
    return lost_text(schedule, order.left_out, run->layout->slices, schedule.weights().use);
  });
}

}  // namespace penstock
