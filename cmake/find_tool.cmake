# The target kiln::kiln where the tool is not built or installed beside this file: KILN_EXECUTABLE, or what PATH has. It has to
# be of this version, as the text that it writes is for these headers. Sets KILN_TOOL_LACKS to what is wrong.
set(KILN_TOOL_LACKS "")
find_program(KILN_EXECUTABLE kiln NO_CMAKE_FIND_ROOT_PATH DOC "The tool that generates kernels")
if(NOT KILN_EXECUTABLE)
  set(KILN_TOOL_LACKS
      "Kiln here has no tool that runs on this machine: set KILN_EXECUTABLE to the kiln of one that does")
  return()
endif()
execute_process(COMMAND "${KILN_EXECUTABLE}" --version OUTPUT_VARIABLE said ERROR_QUIET
                OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT said STREQUAL "kiln ${KILN_TOOL_VERSION}")
  set(KILN_TOOL_LACKS
      "Kiln here is of version ${KILN_TOOL_VERSION}, and ${KILN_EXECUTABLE} says \"${said}\": they go together")
  return()
endif()
if(NOT TARGET kiln::kiln)
  add_executable(kiln::kiln IMPORTED GLOBAL)
endif()
get_target_property(configurations kiln::kiln IMPORTED_CONFIGURATIONS)
foreach(configuration IN LISTS configurations)
  if(configuration)
    set_target_properties(kiln::kiln PROPERTIES IMPORTED_LOCATION_${configuration} "${KILN_EXECUTABLE}")
  endif()
endforeach()
set_target_properties(kiln::kiln PROPERTIES IMPORTED_LOCATION "${KILN_EXECUTABLE}")
