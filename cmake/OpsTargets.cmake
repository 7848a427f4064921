# SPDX-License-Identifier: Apache-2.0
# How every target of the project is made. Five functions, one per kind of target:
#   ops_library(NAME SOURCES … [DEPENDS …])    static library of one folder
#   ops_provider(NAME SOURCES … [DEPENDS …])   lib/libops_NAME.so with one exported symbol
#   ops_tool(NAME SOURCES … [DEPENDS …])       bin/NAME
#   ops_test(NAME SOURCES … [DEPENDS …])       a cmocka program that CTest runs as NAME
#   ops_fuzzer(NAME SOURCES … [DEPENDS …] [MUTATOR …] [LIBRARY …])
#                                              bin/NAME_fuzz with OPS_FUZZ; else, as NAME_fuzz_replay,
#                                              a test that feeds it the files of fuzz/NAME
# In-tree headers are included from the roots sdk/include, sdk/support, sdk, reference_runtime
# and conformance; ci/lint decides who may include whom.

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()
set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g")

find_program(OPS_CCACHE ccache)
if(OPS_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER "${OPS_CCACHE}")
  set(CMAKE_CXX_COMPILER_LAUNCHER "${OPS_CCACHE}")
endif()

add_library(ops_flags INTERFACE)
# A fused multiply-add changes rounding from machine to machine; kernels that want one say fma().
target_compile_options(ops_flags INTERFACE -Wall -Wextra -Werror -ffp-contract=off)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  # gcc's guess about values that come back through an out parameter: it cannot know that a callee
  # of another file returns a failure whenever it left the output alone. Reads of values that are
  # uninitialized on every path still fail the build, clang's own analysis and sanitizers do the rest.
  target_compile_options(ops_flags INTERFACE -Wno-maybe-uninitialized)
endif()
target_compile_definitions(ops_flags INTERFACE _GNU_SOURCE)
if(OPS_SANITIZE)
  target_compile_options(ops_flags INTERFACE -fsanitize=${OPS_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(ops_flags INTERFACE -fsanitize=${OPS_SANITIZE})
  if(OPS_SANITIZE MATCHES "undefined")
    target_compile_options(ops_flags INTERFACE -fno-sanitize-recover=undefined)
  endif()
endif()

if(OPS_FUZZ)
  if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang" OR NOT OPS_SANITIZE MATCHES "address")
    message(FATAL_ERROR "OPS_FUZZ=ON needs clang and the address sanitizer: use --preset fuzz")
  endif()
  # Checks of C++ alone need a runtime that programs written in C do not have.
  target_compile_options(ops_flags INTERFACE -fsanitize=fuzzer-no-link
    $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=function,vptr>)
endif()

# Programs of sanitizer builds carry their options and suppressions with them.
function(_ops_sanitizer_defaults name)
  if(OPS_SANITIZE)
    target_sources(${name} PRIVATE "${PROJECT_SOURCE_DIR}/cmake/sanitizer_defaults.c")
  endif()
endfunction()

function(_ops_finish name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS")
  target_sources(${name} PRIVATE ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ops_flags)
  if(arg_DEPENDS)
    target_link_libraries(${name} PUBLIC ${arg_DEPENDS})
  endif()
endfunction()

# The include root of an in-tree folder: sdk, reference_runtime or conformance.
function(_ops_include_root out)
  file(RELATIVE_PATH rel "${PROJECT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}")
  string(REGEX MATCH "^[^/]+" root "${rel}")
  set(${out} "${PROJECT_SOURCE_DIR}/${root}" PARENT_SCOPE)
endfunction()

function(ops_library name)
  add_library(${name} STATIC)
  _ops_include_root(root)
  target_include_directories(${name} PUBLIC "${root}")
  _ops_finish(${name} ${ARGN})
endfunction()

function(ops_provider name)
  add_library(ops_${name} MODULE)
  target_compile_definitions(ops_${name} PRIVATE OPS_BUILDING_PROVIDER)
  target_link_options(ops_${name} PRIVATE
    "-Wl,--version-script=${PROJECT_SOURCE_DIR}/sdk/abi/provider.map" -Wl,--exclude-libs,ALL)
  if(NOT OPS_SANITIZE)
    target_link_options(ops_${name} PRIVATE -Wl,-z,defs)
  endif()
  _ops_finish(ops_${name} ${ARGN})
  target_link_libraries(ops_${name} PRIVATE ops_sdk)
  set_property(GLOBAL APPEND PROPERTY OPS_PROVIDERS ops_${name})  # ci checks what they export
endfunction()

function(ops_tool name)
  add_executable(${name})
  _ops_include_root(root)
  target_include_directories(${name} PRIVATE "${root}")
  _ops_sanitizer_defaults(${name})
  _ops_finish(${name} ${ARGN})
endfunction()

function(ops_test name)
  if(NOT OPS_BUILD_TESTS)
    return()
  endif()
  add_executable(${name})
  _ops_include_root(root)
  target_include_directories(${name} PRIVATE "${root}")
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  _ops_sanitizer_defaults(${name})
  _ops_finish(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE cmocka)
  add_test(NAME ${name} COMMAND ${name})
endfunction()

# One libFuzzer target. SOURCES define LLVMFuzzerTestOneInput and link everywhere; MUTATOR and
# LIBRARY are sources and libraries that only a fuzzing build has.
function(ops_fuzzer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS;MUTATOR;LIBRARY")
  if(OPS_FUZZ)
    ops_tool(${name}_fuzz SOURCES ${arg_SOURCES} ${arg_MUTATOR}
      DEPENDS ${arg_DEPENDS} ${arg_LIBRARY})
    target_compile_definitions(${name}_fuzz PRIVATE OPS_FUZZ)
    target_link_options(${name}_fuzz PRIVATE -fsanitize=fuzzer -rdynamic)
  elseif(OPS_BUILD_TESTS)
    ops_tool(${name}_fuzz_replay SOURCES ${arg_SOURCES} "${PROJECT_SOURCE_DIR}/cmake/fuzz_replay.c"
      DEPENDS ${arg_DEPENDS})
    set_target_properties(${name}_fuzz_replay PROPERTIES
      RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
    add_test(NAME ${name}_fuzz_replay
      COMMAND ${name}_fuzz_replay "${CMAKE_CURRENT_SOURCE_DIR}/fuzz/${name}")
  endif()
endfunction()
