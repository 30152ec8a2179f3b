# KILN_WHEEL: what a Python wheel carries besides an installation, so that it works where there is
# a C++ compiler and nothing else: Highway and DLPack, and the libraries that the program links.
set_target_properties(kiln PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")
target_link_options(kiln PRIVATE -static-libstdc++ -static-libgcc)

find_package(hwy REQUIRED)
find_package(yaml-cpp REQUIRED)
set(yaml yaml-cpp)
if(TARGET yaml-cpp::yaml-cpp)  # its name from 0.8 on
  set(yaml yaml-cpp::yaml-cpp)
endif()

find_path(HIGHWAY_HEADERS hwy/highway.h REQUIRED)
install(DIRECTORY ${HIGHWAY_HEADERS}/hwy DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h")
install(FILES ${DLPACK_INCLUDE_DIR}/dlpack/dlpack.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/dlpack)

# Wheels hold no links: a library has the name that it is loaded by, and Highway's also the one that
# kernels are linked by.
foreach(library hwy::hwy ${yaml})
  get_target_property(type ${library} TYPE)
  if(NOT type STREQUAL STATIC_LIBRARY)
    install(FILES $<TARGET_FILE:${library}> DESTINATION ${CMAKE_INSTALL_LIBDIR}
            RENAME $<TARGET_SONAME_FILE_NAME:${library}>)
  endif()
endforeach()
install(FILES $<TARGET_FILE:hwy::hwy> DESTINATION ${CMAKE_INSTALL_LIBDIR}
        RENAME libhwy.so)
