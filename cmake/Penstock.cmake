# Helpers of this build. Each folder is one library; registries are written from the files of a folder.

# penstock_library(NAME): a static library of every .cpp directly in this folder, as penstock::NAME.
function(penstock_library name)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  add_library(penstock_${name} STATIC ${sources})
  add_library(penstock::${name} ALIAS penstock_${name})
  target_link_libraries(penstock_${name} PUBLIC penstock_settings)
endfunction()

# penstock_registry(TARGET TYPE FUNCTION HEADER FOLDER): adds every .cpp of FOLDER to TARGET, and a
# generated table of their entries: FILE.cpp must define `constinit extern const TYPE FILE_entry`.
# HEADER declares TYPE and `std::span<const TYPE* const> FUNCTION()`, which returns the table sorted
# by name. A file without its entry does not link. EXCEPT names files of the folder that are none.
function(penstock_registry target type function header folder)
  cmake_parse_arguments(PARSE_ARGV 5 arg "" "" "EXCEPT")
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/*.cpp)
  set(declarations "")
  set(pointers "")
  foreach(source ${sources})
    get_filename_component(stem ${source} NAME_WE)
    if(stem IN_LIST arg_EXCEPT)
      continue()
    endif()
    # Two entries of one name would link, and one table would read the other's.
    get_property(taken GLOBAL PROPERTY penstock_entries)
    if(stem IN_LIST taken)
      message(FATAL_ERROR "${folder}/${stem}.cpp: another registry has a ${stem}_entry already; "
                          "give the file another name")
    endif()
    set_property(GLOBAL APPEND PROPERTY penstock_entries ${stem})
    string(APPEND declarations "extern const ${type} ${stem}_entry;\n")
    string(APPEND pointers "      &${stem}_entry,\n")
  endforeach()
  string(REPLACE "/" "_" table_name ${folder})
  set(table ${CMAKE_BINARY_DIR}/registries/${table_name}.cpp)
  file(CONFIGURE OUTPUT ${table} @ONLY CONTENT
"// Written by CMake from the files of @folder@.
#include <algorithm>
#include <array>
#include <span>

#include \"@header@\"

namespace penstock {

@declarations@
std::span<const @type@* const> @function@() {
  static const auto table = [] {
    std::array entries{
@pointers@    };
    std::sort(entries.begin(), entries.end(),
              [](const auto* a, const auto* b) { return a->name < b->name; });
    return entries;
  }();
  return table;
}

}  // namespace penstock
")
  target_sources(${target} PRIVATE ${sources} ${table})
endfunction()

# penstock_part(NAME TARGET WHY_NOT): says whether a part of Penstock is built.
function(penstock_part name target why_not)
  if(TARGET ${target})
    message(STATUS "${name}: built")
  else()
    message(STATUS "${name}: left out, ${why_not}")
  endif()
endfunction()
