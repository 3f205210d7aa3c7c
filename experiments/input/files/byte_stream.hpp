#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/input/files/files.hpp"
#include "experiments/input/files/gzip.hpp"

namespace penstock {

/// The bytes of a file, one block at a time, so that the file may be larger than memory. Unpacks
/// gzip files, recognised by their content; "-" is standard input.
class ByteStream {
 public:
  /// All members throw InputError: for an unreadable file, for a corrupt or truncated gzip file,
  /// for more than `most_bytes` when unpacked, and for more than `most_unmarked` bytes after the
  /// last mark.
  ByteStream(const std::string& path, std::uint64_t most_bytes, std::uint64_t most_unmarked);

  /// Before each further block, `on_block` gets the share of the file that has been read, from 0 to
  /// 1; what it throws ends the reading. Of standard input it gets 0.
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
  std::uint64_t file_bytes_ = 0;  // 0: unknown
  std::function<void(double)> on_block_;
};

/// A single-pass iterator, for parsers that take a pair of iterators; default-constructed, the end.
class ByteIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  ByteIterator() = default;
  explicit ByteIterator(ByteStream& stream) : stream_(&stream) {}

  const char& operator*() const { return stream_->current(); }
  ByteIterator& operator++() {
    stream_->advance();
    return *this;
  }
  void operator++(int) { stream_->advance(); }
  friend bool operator==(const ByteIterator& a, const ByteIterator& b) {
    return a.at_end() == b.at_end();
  }

 private:
  bool at_end() const { return stream_ == nullptr || stream_->ended(); }

  ByteStream* stream_ = nullptr;
};

}  // namespace penstock
