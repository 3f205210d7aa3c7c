# penstock_header_test(FOLDER): the headers of FOLDER compile in one unit, each included twice, with
# the includes of penstock_FOLDER. tests/includes_test.cpp checks that each includes what it names.
function(penstock_header_test folder)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}
       ${CMAKE_SOURCE_DIR}/${folder}/*.hpp)
  # Headers of the viewer's tests need Qt; the tests that include them show that they compile.
  list(FILTER headers EXCLUDE REGEX "^tests/gui/views/")
  if(NOT headers)
    return()
  endif()
  list(TRANSFORM headers PREPEND "#include \"")
  list(TRANSFORM headers APPEND "\"")
  list(JOIN headers "\n" once)
  set(source ${CMAKE_BINARY_DIR}/headers/${folder}.cpp)
  file(CONFIGURE OUTPUT ${source} @ONLY CONTENT "@once@\n@once@\n")
  set(target penstock_${folder}_headers)
  add_library(${target} OBJECT ${source})
  target_link_libraries(${target} PRIVATE penstock_settings)
  target_include_directories(${target}
                             PRIVATE $<TARGET_PROPERTY:penstock_${folder},INCLUDE_DIRECTORIES>)
  target_compile_options(${target} PRIVATE -O0 -g0)
  set_target_properties(${target} PROPERTIES CXX_CLANG_TIDY "")
endfunction()
