# Kernels in a CMake project, in Kiln's own build and after find_package(Kiln):
#
#   kiln_add_kernel(NAME SPEC file [INSTANCE instance] [SET param=value...] [TARGETS target...]
#                   [FUNCTION function] [DIRECT_ONLY])
#
# generates the C++ function kiln::NAME from a spec and makes the static library NAME, whose users
# say #include "NAME.h". The text is made again when the spec, its lock file or Kiln changes, and
# compiled again when the text changes. A lock file, NAME.lock.yaml beside NAME.yaml, is what
# `kiln tune` found: a build reads it and never tunes.
#
#   INSTANCE  which of the spec's instances; without it the first, or the bare kernel
#   SET       parameter values that win over the spec's, as `kiln generate --set`
#   TARGETS   instruction sets to compile for: NATIVE (this machine's and no other), or some of
#             AVX2 AVX3 AVX3_DL. Without it the kernel runs on any machine, and on each as well as
#             that can. With one, the kernel runs on machines that have it and on no others.
#             TARGETS are of x86; on others a kernel is compiled for what Highway finds there.
#   FUNCTION  what the function and its header are called, where that is not NAME
#   DIRECT_ONLY
#             leaves the emulator out: smaller, and a call in an emulated context fails
#
#   kiln_add_module(NAME kernel...)
#
# makes the shared library NAME.so of kernels made above, for programs that load them, such as Python's
# `kiln.load_library`. It holds the runtime once and exports its C interface (kiln/c.h), and of each
# kernel kiln_NAME and kiln_packed_NAME (of its function's name), which takes any arguments as one array (for JAX).
#
#   kiln_add_runner(NAME kernel)
#
# makes the program NAME of a kernel made above, which calls it on arrays from files or random ones, says how long
# that takes, and needs nothing else where it runs: NAME x=@x.npy y=random m=512 --benchmark; NAME --help.
#
#   kiln_add_golden_test(NAME SPEC file [INSTANCE instance] [FOLDER folder] [MODES mode...])
#
# adds a test that holds every engine against what `kiln golden record` recorded in the folder
# (golden/ beside the spec). MODES are some of interpret, direct and emulate.

# _kiln_find_spec(result file): absolute, and there.
function(_kiln_find_spec result file)
  get_filename_component(spec "${file}" ABSOLUTE)
  if(NOT EXISTS "${spec}")
    message(FATAL_ERROR "there is no spec ${spec}")
  endif()
  set(${result} "${spec}" PARENT_SCOPE)
endfunction()

# Highway asks for AVX-VNNI before it calls a target AVX3_DL without dispatch, which Zen 4 lacks. Kiln's
# code for that target takes dots of bf16 for granted, which Ice Lake lacks.
function(_kiln_native_options result)
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -march=native -dM -E -x c++ /dev/null
                  OUTPUT_VARIABLE macros)
  set(options -march=native -DHWY_BASELINE_TARGETS=HWY_AVX3_DL)
  if(EXISTS /proc/cpuinfo)
    file(STRINGS /proc/cpuinfo intel REGEX "GenuineIntel" LIMIT_COUNT 1)
    file(STRINGS /proc/cpuinfo amx REGEX "amx_bf16.*amx_int8" LIMIT_COUNT 1)
    if(intel AND NOT amx)
      list(APPEND options -DKILN_PREFERS_F32)  # to bf16: runtime/kiln/core/targets.h
    endif()
  endif()
  foreach(feature AVX512BF16 AVX512VNNI AVX512VBMI2 AVX512BITALG VPCLMULQDQ)
    if(NOT macros MATCHES "__${feature}__")
      set(options -march=native -DKILN_DISABLED_TARGETS=HWY_AVX3_DL)
    endif()
  endforeach()
  set(${result} ${options} PARENT_SCOPE)
endfunction()

# The compiler's options for the TARGETS of a kernel.
function(_kiln_target_options result)
  # Here, as a function's caller does not see the variables of this file.
  set(known AVX2 AVX3 AVX3_DL)
  set(options_AVX2 -march=haswell -maes)
  set(options_AVX3 -march=skylake-avx512)
  set(options_AVX3_DL -march=icelake-server -mavx512bf16 -DHWY_BASELINE_TARGETS=HWY_AVX3_DL)

  foreach(target IN LISTS ARGN)
    if(NOT target IN_LIST known AND NOT (target STREQUAL NATIVE AND ARGC EQUAL 2))
      message(FATAL_ERROR "TARGETS are NATIVE, or some of ${known}; not ${ARGN}")
    endif()
  endforeach()
  if(ARGC GREATER 1 AND CMAKE_CROSSCOMPILING AND ARGV1 STREQUAL NATIVE)
    message(FATAL_ERROR "TARGETS NATIVE is for the building machine, and this build is for another: leave it out")
  endif()
  if(ARGC GREATER 1 AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm|riscv)" AND NOT ARGV1 STREQUAL NATIVE)
    message(FATAL_ERROR "TARGETS ${ARGN} are of x86, and this build is for ${CMAKE_SYSTEM_PROCESSOR}: leave it out")
  endif()
  if(ARGC EQUAL 1 OR KILN_ONE_TARGET)  # a build of Kiln for one target says so to whatever links the runtime
    set(options "")
  elseif(ARGC EQUAL 2)
    if(ARGN STREQUAL NATIVE)
      _kiln_native_options(options_NATIVE)
    endif()
    set(options ${options_${ARGN}} -DHWY_COMPILE_ONLY_STATIC)
  else()
    # Those not asked for. What the compiler assumes by itself always stays, and so does AVX3, to which
    # some CPUs with AVX3_DL are sent.
    set(disabled "")
    set(wanted ${ARGN})
    if(AVX3_DL IN_LIST wanted)
      list(APPEND wanted AVX3)
    endif()
    foreach(target IN LISTS known)
      if(NOT target IN_LIST wanted)
        list(APPEND disabled HWY_${target})
      endif()
    endforeach()
    list(JOIN disabled "|" disabled)
    set(options "")
    if(disabled)
      set(options "-DKILN_DISABLED_TARGETS=(${disabled})")
    endif()
  endif()
  set(${result} ${options} PARENT_SCOPE)
endfunction()

# _kiln_flags(result): what files of this folder are compiled with, whoever said so.
function(_kiln_flags result)
  string(TOUPPER "${CMAKE_BUILD_TYPE}" config)
  get_directory_property(options COMPILE_OPTIONS)
  set(${result} ${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${config}} ${options} PARENT_SCOPE)
endfunction()

# How kernels are optimised. Not as far where the project is compiled with sanitizers: GCC takes
# minutes for a register tile in which every access is checked where it stands, and -O3 is some ten
# thousand of them. Calls check the same, and -O1 has fewer to check. Of what -fsanitize=undefined
# adds there are too many even then.
function(_kiln_optimize_options result)
  _kiln_flags(flags)
  if(flags MATCHES "-fsanitize=[a-z,-]*undefined")
    set(optimize -O0)
  elseif(flags MATCHES "-fsanitize=")
    set(optimize -O1 $<$<CXX_COMPILER_ID:GNU>:--param=asan-instrumentation-with-call-threshold=0>)
  else()
    # Nobody steps through a kernel by chance, and without it one takes a hundred times as long.
    set(optimize $<$<NOT:$<CONFIG:Debug>>:-O3>)
    if(NOT KILN_DEBUG_KERNELS)
      list(APPEND optimize $<$<CONFIG:Debug>:-O2>)
    endif()
  endif()
  set(${result} ${optimize} PARENT_SCOPE)
endfunction()

# _kiln_text_options(target): what generated text is compiled with, whatever the project asks for. Nothing is reordered, what
# host code throws is a status, and there are no warnings about text that nobody is to edit.
function(_kiln_text_options target)
  target_compile_options(${target} PRIVATE -fno-fast-math -fexceptions -w)
  set_target_properties(${target} PROPERTIES CXX_CLANG_TIDY "")
endfunction()

function(kiln_add_kernel name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "DIRECT_ONLY" "SPEC;INSTANCE;FUNCTION" "SET;TARGETS")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_SPEC)
    message(FATAL_ERROR "kiln_add_kernel(NAME SPEC file [INSTANCE instance] [SET param=value...] "
                        "[TARGETS target...] [FUNCTION function] [DIRECT_ONLY]), not: ${ARGN}")
  endif()
  if(NOT TARGET kiln::kiln)
    get_property(lacks GLOBAL PROPERTY KILN_TOOL_LACKS)
    message(FATAL_ERROR "${lacks}")
  endif()
  set(function ${name})
  if(arg_FUNCTION)
    set(function ${arg_FUNCTION})
  endif()
  _kiln_find_spec(spec "${arg_SPEC}")
  _kiln_target_options(options ${arg_TARGETS})
  _kiln_optimize_options(optimize)
  set(word "${spec}")
  if(arg_INSTANCE)
    string(APPEND word ":${arg_INSTANCE}")
  endif()
  set(set "")
  if(arg_SET)
    set(set --set ${arg_SET})
  endif()

  # Whether there is one is part of the command, as it may come and go.
  string(REGEX REPLACE "\\.yaml$" ".lock.yaml" lock "${spec}")
  file(GLOB lock CONFIGURE_DEPENDS "${lock}")
  set(lock_option --no-lock)
  if(lock)
    set(lock_option "--lock=${lock}")
  endif()

  # The stamp says when the text was made; the text itself keeps its age while it stays the same.
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${name}.kiln")
  set(stamp "${folder}/${name}.stamp")
  add_custom_command(
    OUTPUT "${stamp}"
    BYPRODUCTS "${folder}/${function}.h" "${folder}/${function}.cc" "${folder}/${function}_module.cc"
               "${folder}/${function}_runner.cc"
    COMMAND kiln::kiln generate "${word}" --name=${function} --module -o "${folder}" ${set}
            "${lock_option}"
    COMMAND ${CMAKE_COMMAND} -E touch "${stamp}"
    DEPENDS "${spec}" ${lock} kiln::kiln
    COMMENT "Generating ${name}"
    VERBATIM)
  add_custom_target(${name}_text DEPENDS "${stamp}")

  set_source_files_properties("${folder}/${function}.cc" PROPERTIES GENERATED ON)
  add_library(${name} STATIC "${folder}/${function}.cc")
  add_dependencies(${name} ${name}_text)
  target_link_libraries(${name} PUBLIC kiln::runtime)
  # As of a system: its users' warnings are for their own code. Who installs a library of his own that has the kernel
  # installs the kernel with it, and no folder of the build.
  target_include_directories(${name} PRIVATE "${folder}")
  target_include_directories(${name} SYSTEM INTERFACE "$<BUILD_INTERFACE:${folder}>")
  _kiln_text_options(${name})
  # GCC looks for garbage when its heap is 128 MB large and of each next size, which takes 6 % of its time for all
  # instruction sets, and saves 30 of 460 MB.
  target_compile_options(${name} PRIVATE $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=300000>)
  # Arithmetic is what the spec says: nothing contracted, integers wrap.
  target_compile_options(${name} PRIVATE -ffp-contract=off -fwrapv ${options} ${optimize})
  if(arg_DIRECT_ONLY)
    target_compile_definitions(${name} PRIVATE KILN_DIRECT_ONLY)
  endif()
  # Of a shared library that has it, the C function is for others, and no other name.
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden
                                           VISIBILITY_INLINES_HIDDEN ON KILN_FUNCTION ${function})
endfunction()

# _kiln_generated(result kernel call): the path of a kernel's generated files, without their endings; `call` is
# what asks for it.
function(_kiln_generated result kernel call)
  if(NOT TARGET ${kernel}_text)
    message(FATAL_ERROR "${call}: there is no kernel ${kernel}; kiln_add_kernel has to come first")
  endif()
  get_target_property(folder ${kernel} BINARY_DIR)
  get_target_property(function ${kernel} KILN_FUNCTION)
  set(${result} "${folder}/${kernel}.kiln/${function}" PARENT_SCOPE)
endfunction()

function(kiln_add_module name)
  if(NOT ARGN)
    message(FATAL_ERROR "kiln_add_module(NAME kernel...) needs the name of a kernel")
  endif()
  set(sources "")
  foreach(kernel IN LISTS ARGN)
    _kiln_generated(path ${kernel} "kiln_add_module(${name} ...)")
    set_source_files_properties("${path}_module.cc" PROPERTIES GENERATED ON)
    list(APPEND sources $<TARGET_OBJECTS:${kernel}> "${path}_module.cc")
  endforeach()
  add_library(${name} MODULE ${sources})
  _kiln_text_options(${name})
  list(TRANSFORM ARGN APPEND _text OUTPUT_VARIABLE texts)
  add_dependencies(${name} ${texts})
  # All of the runtime, as whoever loads it may need any of it; its own, whatever else is loaded.
  target_link_libraries(${name} PRIVATE $<LINK_LIBRARY:WHOLE_ARCHIVE,kiln::runtime>)
  # No other names than those: two modules, and the program that loads them, may each have a runtime.
  set(exports "${CMAKE_CURRENT_BINARY_DIR}/${name}.exports")
  file(CONFIGURE OUTPUT "${exports}" CONTENT "{ global: kiln_*; local: *; };\n")
  target_link_options(${name} PRIVATE -Wl,-Bsymbolic "-Wl,--version-script=${exports}")
  set_property(TARGET ${name} APPEND PROPERTY LINK_DEPENDS "${exports}")
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX PREFIX "" SUFFIX ".so")
endfunction()

function(kiln_add_runner name)
  if(NOT ARGC EQUAL 2)
    message(FATAL_ERROR "kiln_add_runner(NAME kernel) needs the name of one kernel")
  endif()
  _kiln_generated(path ${ARGV1} "kiln_add_runner(${name} ...)")
  set(sources "${path}_module.cc" "${path}_runner.cc")
  set_source_files_properties(${sources} PROPERTIES GENERATED ON)
  add_executable(${name} ${sources})
  add_dependencies(${name} ${ARGV1}_text)
  _kiln_text_options(${name})
  target_link_libraries(${name} PRIVATE ${ARGV1} kiln::runner)
endfunction()

function(kiln_add_golden_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "SPEC;INSTANCE;FOLDER" "MODES")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_SPEC)
    message(FATAL_ERROR "kiln_add_golden_test(NAME SPEC file [INSTANCE instance] [FOLDER folder] "
                        "[MODES mode...]), not: ${ARGN}")
  endif()
  _kiln_find_spec(spec "${arg_SPEC}")
  if(arg_INSTANCE)
    string(APPEND spec ":${arg_INSTANCE}")
  endif()
  set(options "")
  if(arg_FOLDER)
    get_filename_component(folder "${arg_FOLDER}" ABSOLUTE)
    list(APPEND options -o "${folder}")
  endif()
  if(arg_MODES)
    list(JOIN arg_MODES "," modes)
    list(APPEND options --mode=${modes})
  endif()
  add_test(NAME ${name} COMMAND kiln::kiln golden check "${spec}" ${options})
endfunction()
