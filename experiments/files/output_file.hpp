#pragma once

#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/files/gzip.hpp"
#include "experiments/long_work/interruption.hpp"

namespace penstock {

/// Takes a text piece by piece.
using TextSink = std::function<void(std::string_view piece)>;

/// A file written in pieces that appears whole or not at all. It has a temporary name in the same
/// folder until `publish`; errors and interrupts remove it. A path that ends in .gz is packed. "-"
/// is standard output; standard output and devices are written directly.
///
/// Members throw UsageError for an unwritable path, std::runtime_error for a full disk or another
/// machine error, both with the path in front.
class OutputFile {
 public:
  explicit OutputFile(std::string path);

  const std::string& path() const { return path_; }
  void write(std::string_view piece);
  /// Ends the content; the file keeps its temporary name.
  void close();
  /// Ends the content and gives the file its name.
  void publish();

 private:
  struct Close {
    void operator()(std::FILE* file) const;
  };
  void write_raw(std::string_view piece);
  [[noreturn]] void fail(int reason) const;

  std::string path_;
  std::string place_;                        // of the target, if the path is a symbolic link
  std::optional<UnfinishedFile> temporary_;  // empty for a file written directly
  std::unique_ptr<std::FILE, Close> file_;
  std::optional<GzipWriter> packed_;
};

/// Publishes all files or none: if one fails, those before it are removed.
void publish_together(std::vector<OutputFile>& files);

}  // namespace penstock
