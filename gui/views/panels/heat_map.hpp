#pragma once

#include <QWidget>
#include <vector>

namespace penstock {

/// Relative differences of durations by stage (down) and microbatch (across): orange where the
/// second run is slower, blue where it is faster.
class ResidualMap : public QWidget {
 public:
  explicit ResidualMap(QWidget* parent = nullptr);
  void show_residuals(std::vector<std::vector<double>> residuals);

 protected:
  void paintEvent(QPaintEvent* event) override;
  bool event(QEvent* event) override;

 private:
  std::vector<std::vector<double>> residuals_;
  double largest_ = 0;
};

}  // namespace penstock
