# cmake -DSOURCES="a;b" -DFLAGS=… -DOUTPUT=build_hash.cpp -P BuildHash.cmake: writes the function of
# validate/store/stored_row.hpp. The hash covers file names without folder, and file contents. An
# unchanged output is not rewritten, so that nothing is rebuilt for it.
set(all "")
foreach(source ${SOURCES})
  get_filename_component(name ${source} NAME)
  file(SHA256 ${source} hash)
  list(APPEND all "${name} ${hash}")
endforeach()
list(SORT all)
# Warning flags do not affect the kernels.
string(REGEX REPLACE "(^|[ ;])-W[^ ;]*" "" flags "${FLAGS}")
string(SHA256 hash "${all};${flags}")
set(text "#include \"validate/store/stored_row.hpp\"

namespace penstock {

std::string_view kernels_build() { return \"${hash}\"; }

}  // namespace penstock
")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} before)
endif()
if(NOT "${before}" STREQUAL "${text}")
  file(WRITE ${OUTPUT} "${text}")
endif()
