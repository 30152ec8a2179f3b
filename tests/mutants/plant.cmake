# KILN_MUTANTS=ON: libraries are made of copies with faults to switch on (plant.py).
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(kiln_planted_folder ${PROJECT_BINARY_DIR}/mutants)
execute_process(
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/plant.py ${PROJECT_SOURCE_DIR} ${kiln_planted_folder}
  OUTPUT_VARIABLE kiln_planted OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "\n" ";" kiln_planted "${kiln_planted}")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
             ${CMAKE_CURRENT_LIST_DIR}/mutants.txt ${CMAKE_CURRENT_LIST_DIR}/plant.py ${kiln_planted})

# kiln_plant(list): the copy of each source that has one.
function(kiln_plant list)
  set(sources ${${list}})
  foreach(file IN LISTS kiln_planted)
    list(TRANSFORM sources REPLACE "^${PROJECT_SOURCE_DIR}/${file}$" "${kiln_planted_folder}/${file}")
  endforeach()
  set(${list} ${sources} PARENT_SCOPE)
endfunction()
