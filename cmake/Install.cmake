# What `cmake --install` installs and find_package(penstock) finds. Installation components: cli,
# viewer and dev; cmake/Packages.cmake makes a package of each.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(penstock_package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/penstock)

# penstock_component(NAME LIBRARIES LIBRARY… HEADERS FOLDER…): installs penstock_LIBRARY as
# penstock::LIBRARY and the headers of folders as component NAME of find_package. Headers include
# each other from the root of the tree, which is include/penstock there.
function(penstock_component name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LIBRARIES;HEADERS")
  foreach(library ${arg_LIBRARIES})
    set(target penstock_${library})
    set_target_properties(${target} PROPERTIES EXPORT_NAME ${library})
    target_include_directories(
      ${target} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/penstock>)
    target_compile_features(${target} INTERFACE $<INSTALL_INTERFACE:cxx_std_20>)
    install(TARGETS ${target} EXPORT penstock_${name} ARCHIVE COMPONENT dev)
  endforeach()
  install(EXPORT penstock_${name} NAMESPACE penstock:: DESTINATION ${penstock_package_folder}
          COMPONENT dev)
  foreach(folder ${arg_HEADERS})
    file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}
         ${CMAKE_SOURCE_DIR}/${folder}/*.hpp)
    foreach(header ${headers})
      get_filename_component(room ${header} DIRECTORY)
      install(FILES ${CMAKE_SOURCE_DIR}/${header}
              DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/penstock/${room} COMPONENT dev)
    endforeach()
  endforeach()
endfunction()

configure_package_config_file(cmake/penstock-config.cmake.in penstock-config.cmake
                              INSTALL_DESTINATION ${penstock_package_folder})
write_basic_package_version_file(penstock-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/penstock-config.cmake
              ${CMAKE_BINARY_DIR}/penstock-config-version.cmake
        DESTINATION ${penstock_package_folder} COMPONENT dev)

# What comes with the program: experiments/input/files/shipped.hpp finds it beside the program, here
# and in the build folder.
set(shipped scenarios models papers guides)
foreach(folder ${shipped})
  install(DIRECTORY experiments/${folder} DESTINATION ${CMAKE_INSTALL_DATADIR}/penstock
          COMPONENT cli)
endforeach()
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/share/penstock)
foreach(folder ${shipped})
  file(CREATE_LINK ${CMAKE_SOURCE_DIR}/experiments/${folder}
       ${CMAKE_BINARY_DIR}/share/penstock/${folder} SYMBOLIC)
endforeach()
