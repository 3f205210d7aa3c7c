#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::testing {

/// A temporary folder for a test; deleted with the object.
class Scratch {
 public:
  Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch();

  /// The path of a file in the folder.
  std::string path(std::string_view name) const { return folder_ + "/" + std::string(name); }
  /// Writes a file and returns its path.
  std::string file(std::string_view name, std::string_view content) const;

 private:
  std::string folder_;
};

/// An environment variable with another value; as before when this ends.
class Variable {
 public:
  Variable(const char* name, const std::string& value);
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable();

 private:
  const char* name_;
  std::optional<std::string> before_;
};

/// The content of a file, byte by byte.
std::string content_of(const std::string& path);

/// The paths of the files in a folder with an extension (".json"), in order.
std::vector<std::string> paths_in(const std::string& folder, std::string_view extension);

}  // namespace penstock::testing
