#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace penstock::tree {

/// An include of a file.
struct Include {
  std::string file;  // from the root, as are quoted names
  std::size_t line = 0;
  std::string name;
  bool quoted = false;
};

/// Faults as texts; none is right.
using Faults = std::vector<std::string>;

/// An include as a fault: its file, line and name, and what is wrong.
std::string fault(const Include& include, const std::string& what);

/// The includes in the text of a file.
std::vector<Include> includes_of(const std::string& file, const std::string& text);

Faults direction_faults(const Include& include);
Faults room_faults(const Include& include);
Faults name_faults(const Include& include, const std::function<bool(const std::string&)>& exists);
Faults home_faults(const Include& include);

/// What is built with nvcc alone includes no outside library but CUDA, and nothing of the tree
/// beside its own folder.
Faults gpu_side_faults(const Include& include);

/// Files that include each other in a circle, by their names without ending: each circle once, in
/// the order of its includes.
std::vector<std::vector<std::string>> circles(const std::vector<Include>& includes);

/// Whether a folder has a place for a file: in one of its rooms, or listed at its top.
bool has_place(const std::string& folder, const std::string& room, const std::string& name);

/// Types that a header's text defines for all, by name. Two of one name would link, and one file
/// use the other's functions.
std::vector<std::string> types_of(const std::string& text);

/// The lines of a text where the result of `rc::check` is dropped: such a test cannot fail.
std::vector<std::size_t> dropped_properties(const std::string& text);

/// What stands at the top beside sources: hidden files, and what the text of .gitignore names.
bool may_stand_at_top(const std::string& name, const std::string& ignored);

}  // namespace penstock::tree
