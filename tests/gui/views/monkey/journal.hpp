#pragma once

#include <cstdint>
#include <string>

namespace penstock::monkey {

/// Keeps the last steps, and prints them with the seed when the program crashes, when a check
/// fails, or when the event loop has not answered for 30 s of CPU time (90 s under a sanitizer) or
/// for five minutes.
void start_journal(std::uint64_t seed);

/// Begins a step; the event loop has answered.
void begin_step(const std::string& text);

/// Adds to the text of the step that runs.
void add_to_step(const std::string& text);

/// Prints a fault with the last steps and ends the program with exit code 1.
[[noreturn]] void fail(const std::string& fault);

std::uint64_t steps_begun();

}  // namespace penstock::monkey
