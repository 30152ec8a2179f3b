# cmake --install: the tool, the runtime with its headers, and what other projects find them by.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Kiln)
set_target_properties(kiln_runtime PROPERTIES EXPORT_NAME runtime)
set_target_properties(kiln_runner PROPERTIES EXPORT_NAME runner)
install(TARGETS kiln_runtime kiln_runner EXPORT KilnTargets COMPONENT dev
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT KilnTargets NAMESPACE kiln:: DESTINATION ${package} COMPONENT dev)
install(DIRECTORY runtime/kiln DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev
        FILES_MATCHING PATTERN "*.h" PATTERN "*.def")
if(KILN_TOOL)
  install(TARGETS kiln EXPORT KilnTool COMPONENT tool)
  install(EXPORT KilnTool NAMESPACE kiln:: DESTINATION ${package} COMPONENT tool)
endif()
install(DIRECTORY runtime/machines DESTINATION ${CMAKE_INSTALL_DATADIR}/kiln COMPONENT tool
        FILES_MATCHING PATTERN "*.yaml")
# What the tool says of itself, where shells and `man` look. Where it is for another machine it cannot be asked.
if(KILN_TOOL AND NOT CMAKE_CROSSCOMPILING)
  set(texts ${PROJECT_BINARY_DIR}/texts)
  file(MAKE_DIRECTORY ${texts})
  foreach(said kiln.1=help=--man kiln=completion=bash _kiln=completion=zsh kiln.fish=completion=fish)
    string(REPLACE "=" ";" said ${said})
    list(POP_FRONT said file)
    install(CODE "execute_process(COMMAND $<TARGET_FILE:kiln> ${said} OUTPUT_FILE ${texts}/${file} COMMAND_ERROR_IS_FATAL ANY)"
            COMPONENT tool)
  endforeach()
  install(FILES ${texts}/kiln.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
          COMPONENT tool)
  install(FILES ${texts}/kiln DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
          COMPONENT tool)
  install(FILES ${texts}/_kiln DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions
          COMPONENT tool)
  install(FILES ${texts}/kiln.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
          COMPONENT tool)
endif()

configure_package_config_file(cmake/KilnConfig.cmake.in ${PROJECT_BINARY_DIR}/KilnConfig.cmake
                              INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/KilnConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/KilnConfig.cmake ${PROJECT_BINARY_DIR}/KilnConfigVersion.cmake
              cmake/Kiln.cmake cmake/find_tool.cmake
        DESTINATION ${package} COMPONENT dev)

# Relative, so that the prefix can move.
file(RELATIVE_PATH KILN_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" KILN_PC_PREFIX "${KILN_PC_PREFIX}")
configure_file(cmake/kiln-runtime.pc.in ${PROJECT_BINARY_DIR}/kiln-runtime.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/kiln-runtime.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
