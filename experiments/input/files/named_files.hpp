#pragma once

#include <string>
#include <string_view>

#include "sim/base/error.hpp"

namespace penstock {

/// Files that an input names, such as the model of a scenario, and not the user. An input may come
/// from somebody else, so its files are bounded, and errors keep what is in them to themselves.

/// From now on, no path that an input names leads out of this folder. A program calls it once,
/// before it reads anything. Throws UsageError if it is no folder.
void confine_named_files(const std::string& folder);

/// Throws InputError with the path in front if an input names it and it leads out of that folder,
/// with symbolic links resolved. Any path is allowed until there is such a folder.
void check_confined(const std::string& path);

/// Whether a path leads into a folder or what is below it, with symbolic links resolved.
bool leads_below(const std::string& folder, const std::string& path);

/// Throws InputError, which quotes nothing, for a text that is no JSON and comes from a file
/// outside of `folder`, that of the input which names it. `needed`: what it should be.
void require_json(const std::string& folder, const std::string& path, std::string_view text,
                  const char* needed);

/// The same error without what it quotes of a file: from its first quotation mark to its last.
InputError without_quotes(const InputError& error);

}  // namespace penstock
