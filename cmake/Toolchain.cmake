# Compiler settings of every target, and tools that speed up the build if they are installed.

find_program(ccache_program ccache)
if(ccache_program)
  # No source uses its compilation time; ccache requires both settings for precompiled headers.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
                                  CCACHE_SLOPPINESS=pch_defines,time_macros ${ccache_program})
endif()
find_program(mold_program mold)

add_library(penstock_settings INTERFACE)
target_include_directories(penstock_settings INTERFACE ${CMAKE_SOURCE_DIR})
# A designated initialiser omits fields on purpose.
target_compile_options(penstock_settings INTERFACE -Wall -Wextra -Wpedantic
                                                   -Wno-missing-field-initializers)
# In a unit of several rooms, files see names of each other that they do not hide on purpose.
target_compile_options(penstock_settings INTERFACE
                       -Wshadow$<$<BOOL:$<TARGET_PROPERTY:PENSTOCK_JOINS_ROOMS>>:=local>)
# a * b + c is always rounded twice, even with a fused instruction: equal inputs give equal bytes on
# every machine.
target_compile_options(penstock_settings INTERFACE -ffp-contract=off)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # g++ 12 falsely warns about overlap in "text" + std::string.
  target_compile_options(penstock_settings INTERFACE -Wno-restrict)
endif()
# For code whose run time does not matter: reading, reports, commands, tests. Under the fuzzer,
# optimising it takes longer than it saves.
set(PENSTOCK_QUICK_FLAGS $<$<CONFIG:Release>:-Og> $<$<BOOL:${PENSTOCK_FUZZ}>:-O0>)
# The most common headers, precompiled once per set of flags. No file may rely on this: the
# developer presets build without it.
set(PENSTOCK_COMMON_HEADERS <algorithm> <functional> <map> <memory> <optional> <set> <span> <string>
                            <string_view> <vector> <fmt/format.h>)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # ccache needs the first flag for precompiled headers. The others let the compiler use 1 GB before
  # garbage collection, which otherwise takes a fifth of the time of a large unit.
  target_compile_options(penstock_settings INTERFACE -fpch-preprocess
                                                     --param=ggc-min-heapsize=1000000
                                                     --param=ggc-min-expand=400)
endif()
if(PENSTOCK_WERROR)
  target_compile_options(penstock_settings INTERFACE -Werror)
endif()
if(mold_program)
  target_link_options(penstock_settings INTERFACE -fuse-ld=mold)
endif()
if(PENSTOCK_PYTHON)
  # All code is part of a shared library, too; hidden, it is called as directly as in a program.
  target_compile_options(penstock_settings INTERFACE -fPIC -fvisibility=hidden)
endif()
if(PENSTOCK_SANITIZE)
  set(sanitize -fsanitize=${PENSTOCK_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_compile_options(penstock_settings INTERFACE ${sanitize})
  target_link_options(penstock_settings INTERFACE ${sanitize})
endif()
if(PENSTOCK_TIDY)
  find_program(tidy_program clang-tidy REQUIRED)
  set(CMAKE_CXX_CLANG_TIDY ${tidy_program})
endif()
