# `cpack` (./dev package) writes two Debian packages: `kiln`, the tool, and `libkiln-dev`, what
# programs with kernels are built with. The tool compiles with the latter, and a program that is
# built for another machine needs the latter for that machine alone.
# The packager is who builds: DEBFULLNAME and DEBEMAIL, as for Debian's own tools.
set(KILN_PACKAGER "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
if(NOT DEFINED ENV{DEBFULLNAME} OR NOT DEFINED ENV{DEBEMAIL})
  cmake_host_system_information(RESULT host QUERY FQDN)
  set(KILN_PACKAGER "Kiln's builder <builder@${host}>")
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_PACKAGE_NAME kiln)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "${KILN_PACKAGER}")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ
    GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/package/finish.cmake)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL dev)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_DEV_PACKAGE_NAME libkiln-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libhwy-dev (>= 1.0.3), libdlpack-dev")
set(CPACK_DEBIAN_DEV_PACKAGE_RECOMMENDS kiln)
set(CPACK_DEBIAN_DEV_DESCRIPTION "runtime of block kernels that Kiln generates
Kiln turns the spec of a kernel (grid, blocks, index maps, body) into C++.

This package has what such kernels include and link: headers, a static
library, and the files by which CMake and pkg-config find them.")

if(KILN_TOOL)
  list(PREPEND CPACK_COMPONENTS_ALL tool)
  set(CPACK_DEBIAN_TOOL_PACKAGE_NAME kiln)
  set(CPACK_DEBIAN_TOOL_PACKAGE_SECTION devel)
  set(CPACK_DEBIAN_TOOL_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_TOOL_PACKAGE_DEPENDS
      "libkiln-dev (= ${PROJECT_VERSION}), g++ (>= 4:12) | clang (>= 1:14)")
  set(CPACK_DEBIAN_TOOL_DESCRIPTION "generator of block kernels as SIMD C++
Kiln turns the spec of a kernel (grid, blocks, index maps, body), in the
manner of Pallas for TPUs, into readable C++ for the vector units of CPUs.

This package has the tool: it checks specs, generates, runs, interprets and
times kernels, and predicts their time on a TPU.")
endif()

string(TIMESTAMP package_date "%a, %d %b %Y %H:%M:%S +0000" UTC)  # or SOURCE_DATE_EPOCH's
configure_file(cmake/package/changelog.in ${PROJECT_BINARY_DIR}/package/changelog @ONLY)
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} upper)
  install(FILES cmake/package/copyright ${PROJECT_BINARY_DIR}/package/changelog
          DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME}
          COMPONENT ${component} EXCLUDE_FROM_ALL)
endforeach()
include(CPack)
