#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/input/files/byte_stream.hpp"
#include "experiments/input/long_work/interruption.hpp"

namespace penstock {

/// Pictures, pages, traces, launch scripts and man pages carry this near their beginning or at their end, in the
/// way of comments of their format.
inline constexpr std::string_view own_mark = "written by Penstock, may be overwritten";

/// The application_id of SQLite files: "PENS".
inline constexpr std::int32_t sqlite_mark = 0x50454e53;

/// Which existing files an output may replace: those that Penstock alone writes, or any.
enum class Existing : std::uint8_t { own, any };

/// Whether Penstock wrote a file, as far as its content says so: it has `own_mark`, or begins as
/// timelines, rows of sweeps and tables do, or is JSON with the key "penstock" whose description or
/// summary says "written by penstock". Orders as CSV and reports as text have no place for a mark,
/// so they never are.
bool is_own_file(const std::string& path);

/// Throws UsageError if `path` is a file with content that must not be replaced.
void check_replaced(const std::string& path, Existing replaced);

/// Takes a text piece by piece.
using TextSink = std::function<void(std::string_view piece)>;

/// A file written in pieces that appears whole or not at all. Until `publish` it has a name in the
/// same folder that nobody can guess; errors and interrupts remove it. A file that it replaces
/// keeps its mode. A path that ends in .gz is packed. "-" is standard output; standard output and
/// devices are written directly.
///
/// Members throw UsageError for an unwritable path and for a file that must not be replaced,
/// std::runtime_error for a full disk or another machine error, both with the path in front.
class OutputFile {
 public:
  explicit OutputFile(std::string path, Existing replaced = Existing::own);

  void write(std::string_view piece);
  /// For a library that writes the file itself: the empty file's name until `publish`.
  const std::string& name_until_published() const {
    return temporary_ ? temporary_->path() : place_;
  }
  /// Ends the content; the file keeps its temporary name.
  void close();
  /// Ends the content and gives the file its name.
  void publish();

 private:
  friend class OutputSet;
  struct Close {
    void operator()(std::FILE* file) const;
  };
  void open_temporary();
  void write_raw(std::string_view piece);
  void keep_former();
  void take_back();
  [[noreturn]] void fail(int reason) const;

  std::string path_;
  std::string place_;                        // of the target, if the path is a symbolic link
  std::optional<UnfinishedFile> temporary_;  // empty for a file written directly
  std::optional<UnfinishedFile> former_;     // a second name of the file that is replaced
  bool is_new_ = false;                      // it replaces nothing
  std::unique_ptr<std::FILE, Close> file_;
  std::optional<GzipWriter> packed_;
};

/// The files that a command writes: all of them appear, or none does. Throws as OutputFile does.
class OutputSet {
 public:
  explicit OutputSet(Existing replaced = Existing::own) : replaced_(replaced) {}
  OutputSet(const OutputSet&) = delete;
  OutputSet& operator=(const OutputSet&) = delete;
  /// Removes the folders that it made, unless files were published.
  ~OutputSet();

  /// Makes a folder and its parents where they are missing.
  void make_folder(const std::string& path);
  /// A further file; it lives as long as the set.
  OutputFile& add(const std::string& path);
  /// A further file with all its content. `replaced`: what it may replace even if others may not.
  void write(const std::string& path, std::string_view content, Existing replaced = Existing::own);
  std::size_t size() const { return files_.size(); }
  /// If one cannot get its name, those before it are removed, and what they replaced is back.
  void publish();

 private:
  Existing replaced_;
  std::list<OutputFile> files_;
  std::list<UnfinishedFile> made_folders_;  // the inmost last
};

/// Writes a file whole or not at all, like OutputFile; "-" is standard output.
void write_file(const std::string& path, std::string_view content,
                Existing replaced = Existing::own);

/// Throws UsageError if two outputs, or an output and an input, are the same file, even under
/// different names, and for an output that must not be replaced. Ignores empty names, and "-" but
/// for two outputs.
void check_outputs(const std::vector<std::string>& outputs, const std::vector<std::string>& inputs,
                   Existing replaced);

}  // namespace penstock
