#include "experiments/files/gzip.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include "sim/base/error.hpp"

namespace penstock {
namespace {

constexpr int gzip_window = MAX_WBITS + 16;  // asks zlib for a gzip frame
constexpr std::size_t block = std::size_t{1} << 18;

// zlib does not write to its input, but its type lacks const.
Bytef* bytes_of(const char* text) { return reinterpret_cast<Bytef*>(const_cast<char*>(text)); }

/// Limits a size to what zlib's counters hold.
uInt part_of(std::size_t size) { return static_cast<uInt>(std::min(size, std::size_t{1} << 30)); }

}  // namespace

struct GzipWriter::State {
  z_stream stream{};
  std::vector<char> packed = std::vector<char>(block);
};

void GzipWriter::Close::operator()(State* state) const {
  deflateEnd(&state->stream);
  delete state;
}

GzipWriter::GzipWriter() : state_(new State) {
  constexpr int usual_memory = 8;
  if (deflateInit2(&state_->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzip_window, usual_memory,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::bad_alloc();
  }
}

/// Passes zlib's output to `sink`, until zlib needs more input or the file ends.
void GzipWriter::pack(bool last, const Sink& sink) {
  z_stream& stream = state_->stream;
  int answer = Z_OK;
  do {
    stream.next_out = bytes_of(state_->packed.data());
    stream.avail_out = block;
    answer = deflate(&stream, last ? Z_FINISH : Z_NO_FLUSH);
    sink({state_->packed.data(), block - stream.avail_out});
  } while (last ? answer != Z_STREAM_END : stream.avail_out == 0);
}

void GzipWriter::write(std::string_view content, const Sink& sink) {
  while (!content.empty()) {
    state_->stream.next_in = bytes_of(content.data());
    state_->stream.avail_in = part_of(content.size());
    content.remove_prefix(state_->stream.avail_in);
    pack(/*last=*/false, sink);
  }
}

void GzipWriter::finish(const Sink& sink) { pack(/*last=*/true, sink); }

std::string gzip(std::string_view content) {
  std::string file;
  const auto append = [&](std::string_view packed) { file += packed; };
  GzipWriter writer;
  writer.write(content, append);
  writer.finish(append);
  return file;
}

struct GzipReader::State {
  z_stream stream{};
  std::vector<char> packed = std::vector<char>(block);
  bool ended = false;
};

void GzipReader::Close::operator()(State* state) const {
  inflateEnd(&state->stream);
  delete state;
}

GzipReader::GzipReader(Source source, std::string name)
    : source_(std::move(source)), name_(std::move(name)), state_(new State) {
  if (inflateInit2(&state_->stream, gzip_window) != Z_OK) throw std::bad_alloc();
}

/// Gives zlib the next block of the file when the last one is used up.
void GzipReader::fill() {
  if (state_->stream.avail_in != 0) return;
  state_->stream.next_in = bytes_of(state_->packed.data());
  state_->stream.avail_in = static_cast<uInt>(source_(state_->packed.data(), block));
}

void GzipReader::fail() const {
  const char* const reason = state_->stream.msg;
  throw InputError(name_.empty()
                       ? "corrupt gzip file"
                       : fmt::format("corrupt gzip file: {}: {}", name_,
                                     reason == nullptr ? "compressed data error" : reason));
}

std::size_t GzipReader::read(char* to, std::size_t most) {
  z_stream& stream = state_->stream;
  stream.next_out = bytes_of(to);
  stream.avail_out = static_cast<uInt>(most);
  while (stream.avail_out > 0 && !state_->ended) {
    fill();
    const bool no_more = stream.avail_in == 0;
    const int answer = inflate(&stream, Z_NO_FLUSH);
    if (answer == Z_MEM_ERROR) throw std::bad_alloc();
    if (answer == Z_STREAM_END) {
      fill();
      state_->ended = stream.avail_in == 0;
      inflateReset(&stream);
    } else if (answer == Z_BUF_ERROR && no_more) {
      throw InputError("truncated gzip file");
    } else if (answer != Z_OK && answer != Z_BUF_ERROR) {
      fail();
    }
  }
  return most - stream.avail_out;
}

bool is_gzip(std::string_view start) { return start.starts_with("\x1f\x8b"); }

std::string gunzip(std::string_view file, std::uint64_t max_bytes) {
  GzipReader reader([&](char* to, std::size_t most) {
    const std::size_t size = file.copy(to, most);
    file.remove_prefix(size);
    return size;
  });
  std::string content;
  for (std::size_t got = block; got == block;) {
    const std::size_t before = content.size();
    content.resize(before + block);
    got = reader.read(content.data() + before, block);
    content.resize(before + got);
    if (content.size() > max_bytes) {
      throw InputError(fmt::format("it is larger than {} bytes when unpacked", max_bytes));
    }
  }
  return content;
}

}  // namespace penstock
