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

/// A file written in pieces. It appears whole or not at all: under a temporary name beside it until
/// `publish`, removed by errors and interrupts. A path that ends in .gz is packed; "-" is standard
/// output, and both that and a device are written at once.
///
/// Members throw UsageError where nothing can be written at the path, std::runtime_error for a full
/// disk or another fault of the machine, both with the path in front.
class OutputFile {
 public:
  explicit OutputFile(std::string path);

  const std::string& path() const { return path_; }
  void write(std::string_view piece);
  /// Ends the content; it still has its temporary name.
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
  std::string place_;  // of the file itself, where the path is a symbolic link
  std::optional<UnfinishedFile> temporary_;  // not of what is written at once
  std::unique_ptr<std::FILE, Close> file_;
  std::optional<GzipWriter> packed_;
};

/// Gives all of some files their names, or none: where one fails, those before it are removed.
void publish_together(std::vector<OutputFile>& files);

}  // namespace penstock
