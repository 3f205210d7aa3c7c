#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz.hpp"

// In place of libFuzzer, for a build with any compiler: `blind SECONDS SEEDS FOUND` changes the
// files of a folder at random, without looking at which code they reach. A faulty input is written
// to FOUND.

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed);

namespace {

using Bytes = std::vector<std::uint8_t>;

/// Of the changes, wherever they are made.
penstock::fuzz::Dice& dice() {
  static penstock::fuzz::Dice all(1);
  return all;
}

// Static, because a signal handler reads them.
const Bytes* input = nullptr;
std::string found;

extern "C" void on_fault(int signal) {
  std::ofstream(found, std::ios::binary)
      .write(reinterpret_cast<const char*>(input->data()), static_cast<long>(input->size()));
  std::cerr << "ERROR: signal " << signal << "; the input is " << found << '\n';
  ::_exit(1);
}

std::vector<Bytes> files_in(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) paths.push_back(entry);
  std::sort(paths.begin(), paths.end());
  std::vector<Bytes> all;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    all.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return all;
}

}  // namespace

/// Some bytes become others, or a piece is repeated or left out.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most) {
  if (size == 0) return 0;
  const std::size_t at = dice().below(size);
  const std::size_t length = 1 + dice().below(std::min<std::size_t>(size - at, 64));
  switch (dice().below(4)) {
    case 0:
      data[at] = static_cast<std::uint8_t>(dice().below(256));
      return size;
    case 1:
      data[at] ^= static_cast<std::uint8_t>(1U << dice().below(8));
      return size;
    case 2:
      std::memmove(data + at, data + at + length, size - at - length);
      return size - length;
    default:
      if (size + length > most) return size;
      std::memmove(data + at + length, data + at, size - at);
      return size + length;
  }
}

int main(int argc, char** argv) {
  LLVMFuzzerInitialize(&argc, &argv);
  if (argc != 4) return 2;
  constexpr std::size_t most = 8192;
  found = argv[3];
  for (const int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGBUS, SIGALRM})
    std::signal(signal, on_fault);
  std::vector<Bytes> seeds = files_in(argv[2]);
  if (seeds.empty()) return 2;
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::seconds(std::atoi(argv[1]));
  std::uint64_t count = 0;
  for (; count < seeds.size() || Clock::now() < end; ++count) {
    Bytes bytes = seeds[count % seeds.size()];
    bytes.resize(std::max(most, bytes.size()));
    std::size_t size = seeds[count % seeds.size()].size();
    const bool as_it_is = count < seeds.size();
    for (std::size_t n = as_it_is ? 0 : 1 + dice().below(4); n > 0; --n) {
      size = LLVMFuzzerCustomMutator(bytes.data(), size, bytes.size(),
                                     static_cast<unsigned>(dice().below(UINT32_MAX)));
    }
    bytes.resize(size);
    input = &bytes;
    ::alarm(10);
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  }
  ::alarm(0);
  std::cout << "stat::number_of_executed_units: " << count << '\n';
}
