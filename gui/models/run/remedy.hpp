#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace penstock {

/// What helps where files could not be opened.
enum class RemedyKind : std::uint8_t {
  again,   // open them again, once they are mended
  forget,  // a file is gone: forget it
  copy,    // copy a command that makes a file which opens
};
struct Remedy {
  RemedyKind kind = RemedyKind::again;
  std::string label;    // of its button
  std::string command;  // to copy
};

/// For files that could not be opened.
Remedy remedy_of(const std::vector<std::string>& paths);

/// Whether Nsight Systems wrote a file in its own format, which only its programs read.
bool is_nsys_report(const std::string& path);
/// What makes a file of it that opens.
std::string export_command(const std::string& path);

}  // namespace penstock
