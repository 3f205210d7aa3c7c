#include "experiments/files/output_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "sim/base/error.hpp"

namespace penstock {
namespace {

namespace fs = std::filesystem;

/// Whether the machine is at fault, not the path.
bool is_of_machine(int reason) {
  return reason == ENOSPC || reason == EDQUOT || reason == EIO || reason == EFBIG ||
         reason == ENFILE || reason == EMFILE || reason == ENOMEM;
}

/// A special file, such as /dev/null, is written directly, without a temporary file.
bool is_special(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored) && !fs::is_regular_file(path, ignored);
}

/// Follows a symbolic link, so that its target is replaced, not the link.
std::string place_of(const std::string& path) {
  std::error_code ignored;
  const fs::path canonical = fs::weakly_canonical(path, ignored);
  return canonical.empty() ? path : canonical.string();
}

}  // namespace

void OutputFile::Close::operator()(std::FILE* file) const {
  if (file != stdout) std::fclose(file);
}

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  if (path_ == "-") {
    path_ = "standard output";
    file_.reset(stdout);
    return;
  }
  place_ = path_;
  if (!is_special(path_)) {
    place_ = place_of(path_);
    temporary_.emplace(fmt::format("{}.{}.tmp", place_, ::getpid()));
  }
  file_.reset(std::fopen(temporary_ ? temporary_->path().c_str() : place_.c_str(), "wb"));
  if (!file_) fail(errno);
  if (path_.ends_with(".gz")) packed_.emplace();
}

void OutputFile::write(std::string_view piece) {
  if (!packed_) return write_raw(piece);
  packed_->write(piece, [this](std::string_view packed) { write_raw(packed); });
}

void OutputFile::write_raw(std::string_view piece) {
  if (std::fwrite(piece.data(), 1, piece.size(), file_.get()) != piece.size()) fail(errno);
}

void OutputFile::close() {
  if (!file_) return;
  if (packed_) packed_->finish([this](std::string_view packed) { write_raw(packed); });
  if (std::fflush(file_.get()) != 0) fail(errno);
  std::FILE* const file = file_.release();
  if (file != stdout && std::fclose(file) != 0) fail(errno);
}

void OutputFile::publish() {
  close();
  if (!temporary_) return;
  if (std::rename(temporary_->path().c_str(), place_.c_str()) != 0) fail(errno);
  temporary_->keep();
}

void OutputFile::fail(int reason) const {
  const std::string text = fmt::format("{}: cannot write: {}", path_, std::strerror(reason));
  if (is_of_machine(reason)) throw std::runtime_error(text);
  throw UsageError(text);
}

void publish_together(std::vector<OutputFile>& files) {
  for (OutputFile& file : files) file.close();
  const InterruptsWait until_all_are_there;
  std::size_t published = 0;
  try {
    for (; published < files.size(); ++published) files[published].publish();
  } catch (...) {
    for (std::size_t i = 0; i < published; ++i) ::unlink(files[i].path().c_str());
    throw;
  }
}

}  // namespace penstock
