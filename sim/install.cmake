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

# The schema that editors complete scenario files by.
install(FILES scenario.schema.json DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/trainyard)

# cpack -G DEB, in the build folder
set(CPACK_PACKAGE_NAME trainyard)
set(CPACK_PACKAGE_CONTACT "Trainyard <trainyard@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Simulator of training clusters: which way of training is fastest, which cheapest")
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
include(CPack)
