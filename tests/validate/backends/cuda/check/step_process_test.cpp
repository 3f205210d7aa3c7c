#include "validate/backends/cuda/check/step_process.hpp"

#include <doctest/doctest.h>
#include <signal.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>

namespace penstock::testing {

TEST_CASE("gpu check: a process ends with the code of its work, and its fault is named") {
  using std::chrono::seconds;
  const ProcessEnd done = run_apart([] { return 0; }, seconds(60));
  CHECK(done.code == 0);
  CHECK(done.fault.empty());
  const ProcessEnd without = run_apart([] { return 4; }, seconds(60));
  CHECK(without.code == 4);
  CHECK(without.fault == "exit 4");
  const ProcessEnd thrown =
      run_apart([]() -> int { throw std::runtime_error("on purpose"); }, seconds(60));
  CHECK(thrown.code == 1);
  CHECK(thrown.fault == "exit 1");
  const ProcessEnd killed = run_apart([] { return raise(SIGKILL); }, seconds(60));
  CHECK_FALSE(killed.code);
  CHECK(killed.fault == "ended by signal 9");
  const auto sleep = [] {
    std::this_thread::sleep_for(seconds(60));
    return 0;
  };
  const ProcessEnd late = run_apart(sleep, seconds(1));
  CHECK_FALSE(late.code);
  CHECK(late.fault == "took more than 1 s");
}

// Both processes have the buffers of the first.
TEST_CASE("gpu check: what was printed before a process and in it is there once, in order") {
  std::FILE* const file = std::tmpfile();
  REQUIRE(file != nullptr);
  std::fputs("before\n", file);
  const auto print = [&] { return std::fputs("in it\n", file) < 0 ? 1 : 0; };
  CHECK(run_apart(print, std::chrono::seconds(60)).fault.empty());
  std::fputs("after\n", file);
  std::rewind(file);
  std::array<char, 100> text{};
  const std::size_t count = std::fread(text.data(), 1, text.size(), file);
  std::fclose(file);
  CHECK(std::string(text.data(), count) == "before\nin it\nafter\n");
}

}  // namespace penstock::testing
