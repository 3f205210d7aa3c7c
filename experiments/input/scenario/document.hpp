#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/input/scenario/scenario.hpp"

namespace penstock {

/// The keys of a scenario that name files.
inline constexpr std::array file_pointers{
    "/model/file",    "/model/command",    "/partition/file",     "/schedule/file",
    "/hardware/file", "/hardware/profile", "/batch/lengths/file", "/batch/router/file"};

/// The path of a file relative to `folder`, which need not be there yet; unchanged if it is
/// absolute or `folder` is the working folder.
std::string path_seen_from(const std::string& folder, const std::string& path);

/// The document of a scenario as the text of a file, with relative paths as they were.
std::string document_text(const Scenario& scenario);

/// Gives the document of a scenario another order: its "name", or its "file" and "chains". How an
/// order runs stays; what belongs to the one before goes with it, its rule's options too.
void set_order(nlohmann::json& document, const nlohmann::json& order);

/// The document of a scenario for a file in a folder: its relative paths as seen from there,
/// without what it expects.
nlohmann::json moved_document(const Scenario& scenario, const std::string& folder);

/// The same as text. With the file of an order it runs that, whose copies of the model are
/// `chains`.
std::string moved_text(const Scenario& scenario, const std::string& folder,
                       const std::string& order_file = "",
                       const std::vector<std::vector<Stage>>& chains = {});

/// The text of a scenario of the working folder, for a file in another one.
std::string moved_text(const std::string& text, const std::string& folder);

/// The value at a JSON pointer of the document: the text of a string, or JSON. Nothing if there is
/// none.
std::optional<std::string> value_at(const Scenario& scenario, const std::string& pointer);

/// The keys that the schema knows for the object at a pointer of a scenario, sorted; of an object
/// in a list too. Empty where it knows none.
std::vector<std::string> keys_below(std::string_view pointer);

}  // namespace penstock
