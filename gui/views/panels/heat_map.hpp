#pragma once

#include <QWidget>
#include <vector>

namespace penstock {

/// Relative differences of durations by stage (down) and microbatch (across): orange where the
/// second run is slower, blue where it is faster.
class ResidualMap : public QWidget {
 public:
  explicit ResidualMap(QWidget* parent = nullptr);
  /// `without` says why there are none.
  void show_residuals(std::vector<std::vector<double>> residuals, const QString& without);

 protected:
  void paintEvent(QPaintEvent* event) override;
  bool event(QEvent* event) override;

 private:
  std::vector<std::vector<double>> residuals_;
  QString without_ = "No second run";
  double largest_ = 0;
};

}  // namespace penstock
