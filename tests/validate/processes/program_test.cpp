#include "validate/processes/program.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <csignal>
#include <string>
#include <system_error>
#include <vector>

#include "tests/support/scratch.hpp"

namespace penstock::testing {

TEST_CASE("program: its lines are heard one by one, and its exit code is known") {
  std::vector<std::string> lines;
  const auto code = run_program({.words = {"sh", "-c", "echo one; echo two; exit 3"},
                                 .heard = [&](const std::string& line) { lines.push_back(line); }});
  CHECK(code == 3);
  CHECK(lines == std::vector<std::string>{"one", "two"});
}

TEST_CASE(
    "program: one that cannot be started ends with 127, one that is killed with 128 and more") {
  CHECK(run_program({.words = {"/no/such/program"}}) == 127);
  CHECK(run_program({.words = {"sh", "-c", "kill -9 $$"}}) == 128 + 9);
}

TEST_CASE("program: a failure is none of its success where nobody waits for children") {
  const auto before = std::signal(SIGCHLD, SIG_IGN);
  CHECK_THROWS_AS(run_program({.words = {"false"}, .heard = {}, .asked_to_stop = {}}),
                  std::system_error);
  std::signal(SIGCHLD, before);
}

TEST_CASE("program: its errors go to a file") {
  const Scratch scratch;
  run_program({.words = {"sh", "-c", "echo wrong >&2"}, .errors = scratch.path("log")});
  CHECK(content_of(scratch.path("log")) == "wrong\n");
}

TEST_CASE("program: it is killed when asked to stop") {
  const auto begin = std::chrono::steady_clock::now();
  CHECK_FALSE(run_program({.words = {"sleep", "100"}, .asked_to_stop = [] { return true; }}));
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(50));
}

}  // namespace penstock::testing
