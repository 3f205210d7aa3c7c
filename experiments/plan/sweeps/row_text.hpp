#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "experiments/input/files/files.hpp"
#include "sim/base/error.hpp"

namespace penstock {

/// What the beginning of a row says of itself.
struct RowLabel {
  std::uint64_t item = 0;  // number of the configuration in its sweep
  std::uint64_t of = 0;    // configurations of the sweep
  std::string sweep;       // hash
  std::string version;     // of the program
};

/// A row, line `number` of its file: the whole number "item" and the object "configuration"; where
/// present, the text "hash", the object "result", and "findings", a list of objects with texts.
/// Throws InputError with the place for any other text.
nlohmann::ordered_json row_document(std::string_view line, std::uint64_t number);

/// Whether a row whose first finding is of this kind is an answer all the same: figures that miss
/// an expectation. Expectations are the last findings of a row.
inline bool leaves_answer(std::string_view kind) { return kind == "expectation"; }

/// Nothing for a text that is no row.
std::optional<RowLabel> label_of_row(std::string_view row);

/// An error of a whole file, with its name in front.
inline InputError refused_file(const std::string& path, const std::string& what) {
  return {path, "", what};
}

/// Reads a file line by line, without its line ends, and forgets each.
class RowLines {
 public:
  /// Throws InputError for a file that cannot be read.
  explicit RowLines(std::string path);

  /// The next whole line; nothing at the end of the file. Valid until the next call. Throws
  /// InputError for a line of more than JsonLimits::line_bytes.
  std::optional<std::string_view> next();
  /// What follows the last whole line, at the end of the file.
  std::string_view torn() const { return std::string_view(buffer_).substr(begin_); }

  const std::string& path() const { return path_; }

 private:
  bool fill();

  std::string path_;
  InputFile file_;
  std::uint64_t lines_ = 0;  // given out
  std::string buffer_;
  std::size_t begin_ = 0;  // of what is not yet given out
};

}  // namespace penstock
