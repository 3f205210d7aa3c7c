#include "experiments/files/gzip.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <new>

#include "sim/base/error.hpp"

namespace penstock {
namespace {

constexpr int gzip_window = MAX_WBITS + 16;  // zlib's way to ask for a gzip frame
constexpr std::size_t block = std::size_t{1} << 18;

/// A zlib stream over an input that may be larger than zlib's counters.
class Stream {
 public:
  using Step = int (*)(z_stream*, int);
  using End = int (*)(z_stream*);

  Stream(std::string_view input, Step step, End end) : rest_(input), step_(step), end_(end) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { end_(&state_); }

  z_stream* state() { return &state_; }
  bool input_used_up() const { return state_.avail_in == 0 && rest_.empty(); }

  /// Runs one step and appends what it puts out. Gives zlib's answer.
  int run(std::string& output) {
    feed();
    const std::size_t before = output.size();
    output.resize(before + block);
    state_.next_out = reinterpret_cast<Bytef*>(output.data() + before);
    state_.avail_out = block;
    const int answer = step_(&state_, rest_.empty() ? Z_FINISH : Z_NO_FLUSH);
    output.resize(output.size() - state_.avail_out);
    if (answer == Z_MEM_ERROR) throw std::bad_alloc();
    return answer;
  }

 private:
  void feed() {
    if (state_.avail_in != 0 || rest_.empty()) return;
    const std::size_t size = std::min<std::size_t>(rest_.size(), std::size_t{1} << 30);
    // zlib does not write to its input, but has no const for it.
    state_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(rest_.data()));
    state_.avail_in = static_cast<uInt>(size);
    rest_.remove_prefix(size);
  }

  z_stream state_{};
  std::string_view rest_;
  Step step_;
  End end_;
};

}  // namespace

std::string gzip(std::string_view content) {
  Stream stream(content, deflate, deflateEnd);
  constexpr int usual_memory = 8;
  if (deflateInit2(stream.state(), Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzip_window, usual_memory,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::bad_alloc();
  }
  std::string file;
  while (stream.run(file) != Z_STREAM_END) continue;
  return file;
}

std::string gunzip(std::string_view file, std::uint64_t max_bytes) {
  Stream stream(file, inflate, inflateEnd);
  if (inflateInit2(stream.state(), gzip_window) != Z_OK) throw std::bad_alloc();
  std::string content;
  while (true) {
    const std::size_t before = content.size();
    const int answer = stream.run(content);
    if (content.size() > max_bytes) {
      throw InputError(fmt::format("it is larger than {} bytes when unpacked", max_bytes));
    }
    if (answer == Z_STREAM_END) {
      if (stream.input_used_up()) return content;
      inflateReset(stream.state());
    } else if (answer != Z_OK && answer != Z_BUF_ERROR) {
      throw InputError("it is no intact gzip file");
    } else if (stream.input_used_up() && content.size() == before) {
      throw InputError("it is a gzip file that was cut off");
    }
  }
}

}  // namespace penstock
