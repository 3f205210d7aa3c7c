#include "tests/support/scratch.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace penstock::testing {

namespace fs = std::filesystem;

Scratch::Scratch() : folder_((fs::temp_directory_path() / "penstock-test-XXXXXX").string()) {
  if (::mkdtemp(folder_.data()) == nullptr) throw std::runtime_error("cannot make " + folder_);
}

Scratch::~Scratch() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::string Scratch::file(std::string_view name, std::string_view content) const {
  std::ofstream out(path(name), std::ios::binary);
  out << content;
  if (!out.flush()) throw std::runtime_error("cannot write " + path(name));
  return path(name);
}

Variable::Variable(const char* name, const std::string& value) : name_(name) {
  if (const char* before = std::getenv(name)) before_ = before;
  ::setenv(name, value.c_str(), /*overwrite=*/1);
}

Variable::~Variable() {
  ::unsetenv(name_);
  if (before_) ::setenv(name_, before_->c_str(), /*overwrite=*/1);
}

std::string content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> paths_in(const std::string& folder, std::string_view extension) {
  std::vector<std::string> paths;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == extension) paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace penstock::testing
