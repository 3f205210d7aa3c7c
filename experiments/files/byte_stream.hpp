#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "experiments/files/gzip.hpp"

namespace penstock {

/// The bytes of a file one after the other, a block at a time in memory, so that a file may be
/// larger than that. A gzip file, seen by its content, comes unpacked; "-" is standard input.
class ByteStream {
 public:
  /// Throws InputError, as all of its members do, for what cannot be read, is a damaged or cut-off
  /// gzip file, has more than `most_bytes` when unpacked, or more than `most_unmarked` of them
  /// behind the last mark.
  ByteStream(const std::string& path, std::uint64_t most_bytes, std::uint64_t most_unmarked);

  bool ended() const { return at_ == filled_; }
  const char& current() const { return block_[at_]; }
  void advance() {
    if (++at_ == filled_) fill();
  }
  /// What was read up to here has been dealt with, and takes no memory any more.
  void mark() { marked_ = before_ + at_; }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  void fill();
  void take_in(std::size_t got);

  std::unique_ptr<std::FILE, Close> file_;
  std::optional<GzipReader> unpacked_;  // where the file is a gzip file
  std::uint64_t most_;
  std::uint64_t most_unmarked_;
  std::vector<char> block_;
  std::size_t at_ = 0;
  std::size_t filled_ = 0;
  std::uint64_t before_ = 0;  // bytes of earlier blocks
  std::uint64_t marked_ = 0;
};

/// Goes through a stream once, for parsers that take a pair of iterators; default-made, the end.
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
