# What a strategy outside the tree needs: the headers of the parts it may use, and `find_package(trainyard)`.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

foreach(part units config model routing cost planning)
  install(DIRECTORY sim/${part} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/trainyard/sim FILES_MATCHING PATTERN "*.hpp")
endforeach()
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/trainyard)
configure_package_config_file(sim/trainyardConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/trainyardConfig.cmake
  INSTALL_DESTINATION ${package_folder} PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_BINDIR)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/trainyardConfigVersion.cmake COMPATIBILITY ExactVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/trainyardConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/trainyardConfigVersion.cmake DESTINATION ${package_folder})
