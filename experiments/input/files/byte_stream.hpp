#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/input/files/files.hpp"

namespace penstock {

/// Packs text into a .gz file. Equal contents give equal files: no time is stored.
std::string gzip(std::string_view content);

/// Packs content that comes in pieces, on all cores, block by block. Neither the pieces nor the
/// number of cores affect the file.
class GzipWriter {
 public:
  using Sink = std::function<void(std::string_view packed)>;

  GzipWriter();
  void write(std::string_view content, const Sink& sink);
  /// Call once, after all content.
  void finish(const Sink& sink);

 private:
  struct State;
  struct Close {
    void operator()(State* state) const;
  };

  std::unique_ptr<State, Close> state_;
};

/// Unpacks a gzip file as it is read, member by member. zlib's own `gzread` takes anything invalid
/// after a member, such as a member with a damaged head, for the end of the file.
class GzipReader {
 public:
  /// Reads up to `most` bytes of the file to `to` and returns how many; 0 at its end.
  using Source = std::function<std::size_t(char* to, std::size_t most)>;

  /// Errors give zlib's reason, after the file's name if there is one.
  explicit GzipReader(Source source, std::string name = {});

  /// Reads up to `most` bytes of the content, below 4 GiB, to `to` and returns how many: fewer only
  /// at its end. Throws InputError for a truncated or corrupt file.
  std::size_t read(char* to, std::size_t most);

 private:
  struct State;
  struct Close {
    void operator()(State* state) const;
  };
  void fill();
  [[noreturn]] void fail() const;

  Source source_;
  std::string name_;
  std::unique_ptr<State, Close> state_;
};

/// The content of a .gz file. Throws InputError for a truncated or corrupt file, and for more than
/// `max_bytes`.
std::string gunzip(std::string_view file, std::uint64_t max_bytes);

/// The bytes of a file, one block at a time, so that the file may be larger than memory. Unpacks
/// gzip files, recognised by their content; "-" is standard input.
class ByteStream {
 public:
  /// All members throw InputError: for an unreadable file, for a corrupt or truncated gzip file,
  /// for more than `most_bytes` when unpacked, and for more than `most_unmarked` bytes after the
  /// last mark.
  ByteStream(const std::string& path, std::uint64_t most_bytes, std::uint64_t most_unmarked);

  /// Before each further block, `on_block` gets the share of the file that has been read, from 0 to
  /// 1; what it throws ends the reading. Of a pipe it gets 0.
  void watch(std::function<void(double share)> on_block) { on_block_ = std::move(on_block); }

  bool ended() const { return at_ == filled_; }
  const char& current() const { return block_[at_]; }
  void advance() {
    if (++at_ == filled_) fill();
  }
  /// Marks everything read so far as processed; it is freed.
  void mark() { marked_ = before_ + at_; }

 private:
  void fill();
  double share_read() const;
  void take_in(std::size_t got);

  InputFile file_;
  std::optional<GzipReader> unpacked_;  // of a gzip file
  std::uint64_t most_;
  std::uint64_t most_unmarked_;
  std::vector<char> block_;
  std::size_t at_ = 0;
  std::size_t filled_ = 0;
  std::uint64_t before_ = 0;  // bytes of earlier blocks
  std::uint64_t marked_ = 0;
  std::uint64_t file_bytes_;  // 0: unknown
  std::function<void(double)> on_block_;
};

}  // namespace penstock
