#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "sim/base/error.hpp"

namespace penstock {

struct CloseInput {
  void operator()(std::FILE* file) const;
};
using InputFile = std::unique_ptr<std::FILE, CloseInput>;

/// Opens a file to read, standard input for "-". Throws InputError, without the file's name, for a
/// file that cannot be opened, for a folder, and for a device, which may never end.
InputFile open_input(const std::string& path);

/// The whole content of a file, or of standard input for "-". Unpacks gzip, recognised by content.
/// Throws InputError with the file's name in front for an unreadable file and for more than
/// Limits::input_file_bytes, OverBudget if the budget of memory has no room to work with
/// it: `bytes_for_each` of its bytes, of which an order's text takes most.
std::string read_file(const std::string& path, double bytes_for_each = 10);

/// The most bytes of a configuration.
inline constexpr std::uint64_t configuration_bytes = 64'000'000;

/// The same for what states sizes and is small itself: a scenario, a sweep, a model, a machine. At
/// most configuration_bytes, also unpacked.
std::string read_configuration(const std::string& path);

/// Throws InputError for a text that is too large for a configuration.
void check_configuration(std::string_view text);

/// The same error with the file's name in front of its place: "gpt.json: /schedule/name: …".
InputError in_file(const std::string& path, const InputError& error);

/// `path` relative to `folder`, unless it is absolute.
std::string resolve(const std::string& folder, const std::string& path);

/// Runs a step that knows only the part of a document below `where`, and puts `where` in front of
/// the place of its errors.
template <class Step>
auto below(const std::string& where, Step step) {
  try {
    return step();
  } catch (const InputError& error) {
    throw InputError(error.file().empty() ? where + error.where() : where, error.what());
  }
}

/// Runs a step on what a file says, and puts the file's name in front of the place of its errors.
template <class Step>
auto about_file(const std::string& path, Step step) {
  try {
    return step();
  } catch (const InputError& error) {
    throw in_file(path, error);
  }
}

}  // namespace penstock
