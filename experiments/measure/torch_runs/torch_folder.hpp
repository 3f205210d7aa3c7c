#pragma once

#include <string>
#include <string_view>

namespace penstock {

/// The folder of a run in PyTorch: scripts, job, orders, traces, results.
class TorchFolder {
 public:
  /// A temporary folder, which the destructor removes; or, with a path, an empty or new one that
  /// stays. Throws UsageError for a folder with files in it, std::runtime_error if it cannot be
  /// made.
  explicit TorchFolder(const std::string& path = {});
  TorchFolder(const TorchFolder&) = delete;
  TorchFolder& operator=(const TorchFolder&) = delete;
  ~TorchFolder();

  std::string path(std::string_view name) const { return folder_ + "/" + std::string(name); }
  /// Removes a temporary folder now.
  void remove();

 private:
  std::string folder_;
  bool temporary_ = false;
};

/// The program that trains by orders in PyTorch: train_orders.py, as shipped.
std::string_view train_orders_script();
/// The model that it trains: scenario_model.py.
std::string_view scenario_model_script();

}  // namespace penstock
