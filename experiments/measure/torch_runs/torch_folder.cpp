#include "experiments/measure/torch_runs/torch_folder.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <system_error>

#include "sim/base/error.hpp"

namespace penstock {

namespace fs = std::filesystem;

TorchFolder::TorchFolder(const std::string& path) : folder_(path), temporary_(path.empty()) {
  std::error_code error;
  if (temporary_) {
    folder_ = (fs::temp_directory_path() / "penstock-torch-XXXXXX").string();
    if (mkdtemp(folder_.data()) == nullptr) throw std::runtime_error("cannot make " + folder_);
  } else {
    fs::create_directories(path, error);
    if (error) throw std::runtime_error(fmt::format("{}: {}", path, error.message()));
    if (!fs::is_empty(path)) {
      throw UsageError(fmt::format("--keep {}: the folder has files; name a new one", path));
    }
  }
  fs::create_directory(this->path("orders"));
}

TorchFolder::~TorchFolder() { remove(); }

void TorchFolder::remove() {
  std::error_code ignored;
  if (temporary_) fs::remove_all(folder_, ignored);
}

}  // namespace penstock
