#pragma once

#include <cstddef>
#include <iterator>
#include <string>

#include "experiments/input/files/byte_stream.hpp"

namespace penstock {

/// The bytes of JSON as Python and profilers may write it, as JSON: NaN, Infinity and -Infinity
/// become null, and in strings what is not UTF-8 becomes U+FFFD.
class LenientJson {
 public:
  /// The stream must outlive it. Members throw what the stream throws.
  explicit LenientJson(ByteStream& bytes) : bytes_(bytes) { look(); }

  bool ended() const { return at_ == made_.size() && bytes_.ended(); }
  const char& current() const { return at_ < made_.size() ? made_[at_] : bytes_.current(); }
  void advance() {
    if (at_ < made_.size()) {
      if (++at_ < made_.size()) return;
      made_.clear();
      at_ = 0;
    } else {
      pass(bytes_.current());
      bytes_.advance();
    }
    look();
  }

 private:
  /// Whether the next byte is in a string.
  void pass(char byte) {
    if (escaped_) {
      escaped_ = false;
    } else if (byte == '"') {
      in_string_ = !in_string_;
    } else {
      escaped_ = in_string_ && byte == '\\';
    }
  }
  void look() {
    if (bytes_.ended()) return;
    const char byte = bytes_.current();
    if (in_string_ ? static_cast<unsigned char>(byte) >= 0x80
                   : byte == 'N' || byte == 'I' || byte == '-') {
      make();
    }
  }
  void make();

  ByteStream& bytes_;
  bool in_string_ = false;
  bool escaped_ = false;
  std::string made_;  // instead of bytes that are read
  std::size_t at_ = 0;
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
  explicit ByteIterator(LenientJson& stream) : stream_(&stream) {}

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

  LenientJson* stream_ = nullptr;
};

}  // namespace penstock
