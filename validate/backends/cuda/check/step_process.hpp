#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace penstock {

/// How a process ended.
struct ProcessEnd {
  std::optional<int> code;  // none where it did not end by itself
  std::string fault;        // "" with exit code 0
};

/// What `work` returns; 1 where it throws, with the text on stderr.
int code_of(const std::function<int()>& work);

/// Runs `work` in a process of its own, whose exit code is what it returns; one that takes longer
/// than `most` is ended. With a GPU: before this process asks its driver for anything, which would
/// leave the other one without it.
ProcessEnd run_apart(const std::function<int()>& work, std::chrono::seconds most);

}  // namespace penstock
