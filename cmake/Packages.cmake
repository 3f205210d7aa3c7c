# Debian packages, by `cpack --config build/default/CPackConfig.cmake`: penstock, penstock-viewer and
# libpenstock-dev; python3-penstock where the module is built. Each lists the shared libraries that it links.

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "The Penstock authors <maintainers@penstock.invalid>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/cmake/debian_places.cmake)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL cli dev)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION science)

set(CPACK_DEBIAN_CLI_PACKAGE_NAME penstock)
# Cairo is loaded with the first picture.
set(CPACK_DEBIAN_CLI_PACKAGE_DEPENDS "libcairo2, fonts-dejavu-core")
set(CPACK_DEBIAN_CLI_PACKAGE_SUGGESTS "penstock-viewer")
set(CPACK_COMPONENT_CLI_DESCRIPTION
    "The program, with scenarios, models, published tables and guides.")

set(CPACK_DEBIAN_DEV_PACKAGE_NAME libpenstock-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS
    "libfmt-dev, nlohmann-json3-dev, libsqlite3-dev, zlib1g-dev")
set(CPACK_COMPONENT_DEV_DESCRIPTION
    "Headers and static libraries, for programs that simulate.")

set(packages cli/penstock dev/libpenstock-dev)
if(TARGET penstock_viewer)
  list(APPEND CPACK_COMPONENTS_ALL viewer)
  list(APPEND packages viewer/penstock-viewer)
  set(CPACK_DEBIAN_VIEWER_PACKAGE_NAME penstock-viewer)
  set(CPACK_DEBIAN_VIEWER_PACKAGE_DEPENDS "libcairo2, fonts-dejavu-core")
  set(CPACK_DEBIAN_VIEWER_PACKAGE_RECOMMENDS "penstock")
  set(CPACK_COMPONENT_VIEWER_DESCRIPTION "The viewer of simulated and measured runs.")
endif()
if(TARGET penstock_python AND NOT DEFINED SKBUILD)  # a wheel is made by its own tools
  list(APPEND CPACK_COMPONENTS_ALL python)
  list(APPEND packages python/python3-penstock)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-penstock)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3")
  set(CPACK_COMPONENT_PYTHON_DESCRIPTION "The Python module.")
endif()

# Each package has licence and changes where Debian expects them.
foreach(package ${packages})
  get_filename_component(component ${package} DIRECTORY)
  get_filename_component(name ${package} NAME)
  set(documents ${CMAKE_INSTALL_DATAROOTDIR}/doc/${name})
  install(FILES LICENSE DESTINATION ${documents} RENAME copyright COMPONENT ${component})
  install(FILES CHANGELOG.md DESTINATION ${documents} COMPONENT ${component})
endforeach()

set(documents ${CMAKE_INSTALL_DATAROOTDIR}/doc/libpenstock-dev)
install(DIRECTORY experiments/embedding COMPONENT dev DESTINATION ${documents})
# The page of the API is made where it is installed.
find_program(python3_program python3)
if(python3_program)
  install(CODE "
    set(page \"\${CMAKE_INSTALL_PREFIX}/${documents}/embedding/api.md\")
    execute_process(COMMAND \"${python3_program}\" -X utf8
                            \"${CMAKE_SOURCE_DIR}/experiments/embedding/api\" --page
                    OUTPUT_FILE \"\$ENV{DESTDIR}\${page}\" COMMAND_ERROR_IS_FATAL ANY)
    list(APPEND CMAKE_INSTALL_MANIFEST_FILES \"\${page}\")
  " COMPONENT dev)
else()
  message(STATUS "Page of the C++ API: left out, python3 was not found")
endif()

include(CPack)
