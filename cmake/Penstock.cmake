# Helpers of this build. Each folder is one library; registries are generated from the files of a
# folder.

# penstock_library(NAME [HEADERS KIND] [WINGS WING…] [EXCEPT FOLDER…] [FAST ROOM…]): a static
# library of every .cpp of this folder and its rooms, or of some wings of it, as penstock::NAME. FAST
# names the rooms where run time matters: they get the full optimisation of the build type. The
# others get PENSTOCK_QUICK_FLAGS, which compile faster, and the precompiled headers of
# penstock_common_KIND (quick, or quick_json). EXCEPT names rooms of other targets. With
# PENSTOCK_ONLY, sources that match it, as FOLDER/ROOM/FILE.cpp.
function(penstock_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "HEADERS" "WINGS;EXCEPT;FAST")
  if(NOT arg_HEADERS)
    set(arg_HEADERS quick)
  endif()
  set(patterns *.cpp)
  if(arg_WINGS)
    list(TRANSFORM arg_WINGS APPEND "/*.cpp" OUTPUT_VARIABLE patterns)
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${patterns})
  if(PENSTOCK_ONLY)
    get_filename_component(folder ${CMAKE_CURRENT_SOURCE_DIR} NAME)
    list(TRANSFORM sources PREPEND ${folder}/)
    list(FILTER sources INCLUDE REGEX "${PENSTOCK_ONLY}")
    list(TRANSFORM sources REPLACE "^${folder}/" "")
  endif()
  set(fast "")
  set(quick "")
  foreach(source ${sources})
    get_filename_component(room ${source} DIRECTORY)
    if(room IN_LIST arg_EXCEPT)
      continue()
    elseif(room IN_LIST arg_FAST)
      list(APPEND fast ${source})
    else()
      list(APPEND quick ${source})
    endif()
  endforeach()
  penstock_rooms(JOINED ${fast} ${quick})

  # A library needs at least one source.
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp CONTENT "")
  add_library(penstock_${name} STATIC ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp ${fast})
  add_library(penstock::${name} ALIAS penstock_${name})
  # Settings are those of this build; what links an installed library has its own.
  target_link_libraries(penstock_${name} PUBLIC $<BUILD_INTERFACE:penstock_settings>)
  if(fast)
    penstock_compile_by_room(penstock_${name} penstock_common)
  endif()
  if(quick)
    add_library(penstock_${name}_quick OBJECT ${quick})
    target_sources(penstock_${name} PRIVATE $<TARGET_OBJECTS:penstock_${name}_quick>)
    penstock_compile_by_room(penstock_${name}_quick penstock_common_${arg_HEADERS})
    penstock_compile_as(penstock_${name}_quick penstock_${name})
  endif()
endfunction()

# penstock_compile_as(TARGET OTHER): TARGET gets the headers and definitions of OTHER and the quick
# flags.
function(penstock_compile_as target other)
  target_link_libraries(${target} PRIVATE $<GENEX_EVAL:$<TARGET_PROPERTY:${other},LINK_LIBRARIES>>)
  target_include_directories(${target} PRIVATE $<TARGET_PROPERTY:${other},INCLUDE_DIRECTORIES>)
  target_compile_definitions(${target} PRIVATE $<TARGET_PROPERTY:${other},COMPILE_DEFINITIONS>)
  target_compile_options(${target} PRIVATE ${PENSTOCK_QUICK_FLAGS})
endfunction()

# penstock_rooms([JOINED] SOURCE…): with PENSTOCK_UNITY, each room is compiled as one unit; JOINED puts
# rooms into the unit of the second folder of their path, since headers take half of a small unit's
# time.
function(penstock_rooms)
  cmake_parse_arguments(PARSE_ARGV 0 arg "JOINED" "" "")
  foreach(source ${arg_UNPARSED_ARGUMENTS})
    get_filename_component(room ${source} DIRECTORY)
    if(arg_JOINED)
      string(REGEX REPLACE "^([^/]*/[^/]*)/.*" "\\1" room "${room}")
    endif()
    string(REPLACE "/" "_" group "room_${room}")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
  endforeach()
endfunction()

# penstock_compile_by_room(TARGET HEADERS): compiles the sources in the groups of penstock_rooms(),
# with the precompiled headers of the target HEADERS, which has the same flags.
function(penstock_compile_by_room target headers)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${PENSTOCK_UNITY} UNITY_BUILD_MODE GROUP)
  target_precompile_headers(${target} REUSE_FROM ${headers})
endfunction()

# penstock_precompiled(TARGET [HEADER…]): a target that only precompiles headers for others: the
# most common ones, and HEADER. Its flags are set as on any other target.
function(penstock_precompiled target)
  set(source ${CMAKE_BINARY_DIR}/precompiled/${target}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "")
  add_library(${target} OBJECT ${source})
  target_link_libraries(${target} PRIVATE penstock_settings fmt::fmt)
  target_precompile_headers(${target} PRIVATE ${PENSTOCK_COMMON_HEADERS} ${ARGN})
endfunction()

# penstock_registry(TARGET TYPE FUNCTION HEADER FOLDER): generates the table of the entries of
# FOLDER for TARGET. Every .cpp directly in FOLDER except registry.cpp is an entry: FILE.cpp must
# define `constinit extern const TYPE FILE_entry` in its own namespace, penstock::FILE_file. HEADER
# declares TYPE and `std::span<const TYPE* const> FUNCTION()`, which returns the table sorted by
# name. A file without its entry does not link. Code shared by entries is in rooms below FOLDER.
function(penstock_registry target type function header folder)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/*.cpp)
  set(declarations "")
  set(pointers "")
  foreach(source ${sources})
    get_filename_component(stem ${source} NAME_WE)
    if(stem STREQUAL "registry")
      continue()
    endif()
    # Two entries of the same name would link, and one table would contain the other's entry.
    get_property(taken GLOBAL PROPERTY penstock_entries)
    if(stem IN_LIST taken)
      message(FATAL_ERROR "${folder}/${stem}.cpp: another registry has a ${stem}_entry already; "
                          "give the file another name")
    endif()
    set_property(GLOBAL APPEND PROPERTY penstock_entries ${stem})
    # Entries may use the same names for local functions: each has a namespace of its own.
    string(APPEND declarations
           "namespace ${stem}_file {\nextern const ${type} ${stem}_entry;\n}\n")
    string(APPEND pointers "      &${stem}_file::${stem}_entry,\n")
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
  target_sources(${target} PRIVATE ${table})
endfunction()

# penstock_part(NAME TARGET WHY_NOT): reports whether a part of Penstock is built.
function(penstock_part name target why_not)
  if(TARGET ${target})
    message(STATUS "${name}: built")
  else()
    message(STATUS "${name}: left out, ${why_not}")
  endif()
endfunction()
