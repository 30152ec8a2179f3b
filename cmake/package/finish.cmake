# What Debian wants of the files of a package besides being there: manual pages and changelogs are
# compressed, static libraries have no debug information. Runs on each package's staged tree.
file(GLOB_RECURSE compressed "${CPACK_TEMPORARY_DIRECTORY}/*.1"
     "${CPACK_TEMPORARY_DIRECTORY}/changelog")
foreach(file IN LISTS compressed)
  execute_process(COMMAND gzip -9nf "${file}" COMMAND_ERROR_IS_FATAL ANY)
endforeach()
file(GLOB_RECURSE libraries "${CPACK_TEMPORARY_DIRECTORY}/*.a")
foreach(file IN LISTS libraries)
  execute_process(
    COMMAND strip --strip-debug --enable-deterministic-archives --remove-section=.comment "${file}"
    COMMAND_ERROR_IS_FATAL ANY)
endforeach()
