# cmake --install: headers, libraries and a CMake package with heed::kernels, heed::metrics (no torch)
# and heed::heed (everything).
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

add_library(heed_all INTERFACE)
add_library(heed::heed ALIAS heed_all)
set_target_properties(heed_all PROPERTIES EXPORT_NAME heed)
get_property(libraries GLOBAL PROPERTY HEED_LIBRARIES)
target_link_libraries(heed_all INTERFACE ${libraries})

install(TARGETS ${libraries} heed_all EXPORT heedTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT cpp)
if(HEED_TORCH)
  # LibTorch is found again by the user of the package, not named by its path on this machine.
  install(TARGETS heed_torch EXPORT heedTargets COMPONENT cpp)
endif()
install(EXPORT heedTargets NAMESPACE heed:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/heed COMPONENT cpp)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/heed DESTINATION include COMPONENT cpp
  PATTERN serve EXCLUDE)  # part of the command alone
if(TARGET heed_cli)
  install(TARGETS heed_cli RUNTIME DESTINATION bin COMPONENT cpp)
endif()

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/heedConfig.cmake.in ${PROJECT_BINARY_DIR}/heedConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/heed)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/heedConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/heedConfig.cmake ${PROJECT_BINARY_DIR}/heedConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/heed COMPONENT cpp)
