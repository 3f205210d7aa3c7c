#pragma once

#include <string>
#include <type_traits>

#include "sim/base/error.hpp"

namespace penstock::testing {

/// What `call` returns, if that is a text, or "accepted".
template <class Call>
std::string result_text(const Call& call) {
  if constexpr (std::is_convertible_v<decltype(call()), std::string>) {
    return call();
  } else {
    call();
    return "accepted";
  }
}

/// The text of the Error that `call` throws, or its outcome. Any other exception fails the test.
template <class Error, class Call>
std::string refused_with(const Call& call) {
  try {
    return result_text(call);
  } catch (const Error& error) {
    return error.what();
  }
}

/// The same of an input, with the place in front.
template <class Call>
std::string refused_at(const Call& call) {
  try {
    return result_text(call);
  } catch (const InputError& error) {
    return error.text();
  }
}

/// The same of a file, without its name in front.
template <class Call>
std::string refused_file(const std::string& path, const Call& call) {
  const std::string said = refused_with<InputError>(call);
  return said.starts_with(path + ": ") ? said.substr(path.size() + 2) : said;
}

}  // namespace penstock::testing
