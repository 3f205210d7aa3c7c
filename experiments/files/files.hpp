#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/base/error.hpp"

namespace penstock {

/// The whole content of a file, or of standard input for "-". Unpacks a file that ends in .gz.
/// Throws InputError with the file's name in front for an unreadable file and for more than
/// Limits::input_file_bytes.
std::string read_file(const std::string& path);

/// Writes a file whole or not at all, like OutputFile; "-" is standard output.
void write_file(const std::string& path, std::string_view content);

/// Throws UsageError if two outputs, or an output and an input, are the same file, even under
/// different names. Ignores empty names and "-".
void check_outputs(const std::vector<std::string>& outputs, const std::vector<std::string>& inputs);

/// The same error with the file's name in front of its place: "gpt.json: /schedule/name: …".
InputError in_file(const std::string& path, const InputError& error);

/// `path` relative to `folder`, unless it is absolute.
std::string resolve(const std::string& folder, const std::string& path);

}  // namespace penstock
