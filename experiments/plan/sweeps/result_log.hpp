#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/input/files/output_file.hpp"

namespace penstock {

/// The beginning of the row that belongs at a place of a file; empty behind the last one.
using ExpectedRow = std::function<std::string(std::uint64_t place)>;

/// What a file already had.
struct ResumedRows {
  std::uint64_t rows = 0;
  std::uint64_t with_result = 0;
  std::uint64_t without_memory = 0;  // refused as the process that wrote them had too little
  bool repaired = false;             // a torn last line was removed
};

/// A file of rows that only grows. One process at a time has it: a lock goes with the open file, so
/// that a killed process leaves none.
class ResultLog {
 public:
  /// Opens or makes the file and takes the lock. If it may replace any file, one that begins with
  /// no row is emptied. Throws UsageError for a file that cannot be opened or that another process
  /// writes.
  explicit ResultLog(std::string path, Existing replaced = Existing::own);
  ResultLog(const ResultLog&) = delete;
  ResultLog& operator=(const ResultLog&) = delete;
  ~ResultLog();

  /// Checks that the rows there are the first of those expected, and removes a torn last line.
  /// Throws InputError for a file of another sweep or version, with both named.
  ResumedRows resume(const ExpectedRow& expected);

  /// Appends whole rows; they are in the file when it returns. On an error what is not a whole row
  /// is taken back. Throws UsageError, or std::runtime_error for a full disk.
  void append(std::string_view rows);

 private:
  [[noreturn]] void fail(int reason);

  std::string path_;
  int file_ = -1;
  std::uint64_t size_ = 0;  // of whole rows
};

struct MergedRows {
  std::uint64_t rows = 0;
  std::uint64_t with_result = 0;
};

/// Writes the rows of shards in the order of their sweep: the bytes of the unsharded file. A row
/// that several files have must be the same in all. Throws InputError for files of different sweeps
/// or versions, with both named, and for a configuration that no file has.
MergedRows merge_rows(const std::vector<std::string>& shards, const std::string& output,
                      Existing replaced = Existing::own);

}  // namespace penstock
