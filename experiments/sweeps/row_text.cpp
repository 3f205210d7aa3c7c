#include "experiments/sweeps/row_text.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "sim/base/error.hpp"

namespace penstock {

std::optional<RowLabel> label_of_row(std::string_view row) {
  const auto document = nlohmann::json::parse(row, nullptr, false);
  if (!document.is_object()) return std::nullopt;
  const auto has_number = [&](const char* key) {
    return document.contains(key) && document[key].is_number_unsigned();
  };
  const auto has_text = [&](const char* key) {
    return document.contains(key) && document[key].is_string();
  };
  if (!has_number("item") || !has_number("of") || !has_text("sweep") || !has_text("version")) {
    return std::nullopt;
  }
  return RowLabel{document["item"], document["of"], document["sweep"], document["version"]};
}

RowLines::RowLines(std::string path) : path_(std::move(path)) {
  file_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (file_ < 0) {
    throw refused_file(path_, fmt::format("cannot read: {}", std::strerror(errno)));
  }
}

RowLines::~RowLines() {
  if (file_ >= 0) ::close(file_);
}

std::optional<std::string_view> RowLines::next() {
  std::size_t searched = begin_;
  for (;;) {
    const std::size_t end = buffer_.find('\n', searched);
    if (end != std::string::npos) {
      const std::string_view line = std::string_view(buffer_).substr(begin_, end - begin_);
      begin_ = end + 1;
      return line;
    }
    searched = buffer_.size() - begin_;
    if (!fill()) return std::nullopt;
  }
}

/// Moves what is left to the front and reads more behind it.
bool RowLines::fill() {
  constexpr std::size_t piece = 1 << 20;
  buffer_.erase(0, begin_);
  begin_ = 0;
  const std::size_t before = buffer_.size();
  buffer_.resize(before + piece);
  const ssize_t read = ::read(file_, buffer_.data() + before, piece);
  buffer_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(read, 0)));
  if (read < 0) throw refused_file(path_, fmt::format("cannot read: {}", std::strerror(errno)));
  return read > 0;
}

}  // namespace penstock
