#include "tests/support/program.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "experiments/program/commands/registry.hpp"

namespace penstock::testing {
namespace {

void redirect(int descriptor, const std::string& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file < 0 || ::dup2(file, descriptor) < 0) ::_exit(126);
}

[[noreturn]] void run_here(const std::vector<std::string>& arguments, const std::string& folder) {
  if (::chdir(folder.c_str()) != 0) ::_exit(126);
  std::vector<const char*> words{"penstock"};
  for (const std::string& argument : arguments) words.push_back(argument.c_str());
  const int code = run_program(static_cast<int>(words.size()), words.data());
  std::fflush(nullptr);
  ::_exit(code);
}

}  // namespace

StandardInput::StandardInput(const std::string& path) : former_(::dup(STDIN_FILENO)) {
  const int file = ::open(path.c_str(), O_RDONLY);
  if (file < 0) throw std::runtime_error("cannot open " + path);
  ::dup2(file, STDIN_FILENO);
  ::close(file);
}

StandardInput::~StandardInput() {
  ::dup2(former_, STDIN_FILENO);
  ::close(former_);
}

std::vector<std::string> with_words(std::vector<std::string> words,
                                    const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

ProgramRun run_penstock(const std::vector<std::string>& arguments, const std::string& folder) {
  const Scratch scratch;
  const std::string output = scratch.path("output");
  const std::string errors = scratch.path("errors");
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("cannot fork");
  if (child == 0) {
    redirect(STDOUT_FILENO, output);
    redirect(STDERR_FILENO, errors);
    run_here(arguments, folder);
  }
  int status = 0;
  if (::waitpid(child, &status, 0) != child) throw std::runtime_error("cannot wait");
  return {.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          .output = content_of(output),
          .errors = content_of(errors)};
}

nlohmann::json Desk::json_of(std::vector<std::string> arguments, int code) const {
  arguments.emplace_back("--json");
  const ProgramRun done = run(arguments);
  CAPTURE(done.errors);
  REQUIRE(done.code == code);
  return nlohmann::json::parse(done.output);
}

bool Desk::has(const std::string& file) const { return std::filesystem::exists(path(file)); }

}  // namespace penstock::testing
