#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/base/error.hpp"

namespace penstock {

/// What the beginning of a row says of itself.
struct RowLabel {
  std::uint64_t item = 0;  // number of the configuration in its sweep
  std::uint64_t of = 0;    // configurations of the sweep
  std::string sweep;       // hash
  std::string version;     // of the program
};

/// Nothing for a text that is no row.
std::optional<RowLabel> label_of_row(std::string_view row);

/// An error of a whole file, with its name in front.
inline InputError refused_file(const std::string& path, const std::string& what) {
  return InputError(path + ": " + what);
}

/// Reads a file line by line, without its line ends, and forgets each.
class RowLines {
 public:
  /// Throws InputError for a file that cannot be read.
  explicit RowLines(std::string path);
  RowLines(const RowLines&) = delete;
  RowLines& operator=(const RowLines&) = delete;
  ~RowLines();

  /// The next whole line; nothing at the end of the file. Valid until the next call.
  std::optional<std::string_view> next();
  /// What follows the last whole line, at the end of the file.
  std::string_view torn() const { return std::string_view(buffer_).substr(begin_); }

  const std::string& path() const { return path_; }

 private:
  bool fill();

  std::string path_;
  int file_ = -1;
  std::string buffer_;
  std::size_t begin_ = 0;  // of what is not yet given out
};

}  // namespace penstock
