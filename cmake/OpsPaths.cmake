# SPDX-License-Identifier: Apache-2.0
# Where installed things live, and the build tree made to look the same.
#
# Targets that look for providers or contracts link `ops_paths`, which defines, as C strings:
#   OPS_PROVIDER_DIR, OPS_CONTRACTS_DIR                      absolute, under the configured prefix
#   OPS_PROVIDER_DIR_FROM_BIN, OPS_CONTRACTS_DIR_FROM_BIN    relative to the tool's own folder
# The relative ones also hold after `cmake --install --prefix ELSEWHERE` and in the build tree,
# where links stand in for the installed folders: try them first.

include(GNUInstallDirs)

set(OPS_INSTALL_PROVIDERS "${CMAKE_INSTALL_LIBDIR}/ops/providers")
set(OPS_INSTALL_CONTRACTS "${CMAKE_INSTALL_DATADIR}/ops/contracts")

add_library(ops_paths INTERFACE)

function(_ops_define_path name installed)
  get_filename_component(absolute "${installed}" ABSOLUTE BASE_DIR "${CMAKE_INSTALL_PREFIX}")
  get_filename_component(bin "${CMAKE_INSTALL_BINDIR}" ABSOLUTE BASE_DIR "${CMAKE_INSTALL_PREFIX}")
  file(RELATIVE_PATH relative "${bin}" "${absolute}")
  target_compile_definitions(ops_paths INTERFACE
    "${name}=\"${absolute}\"" "${name}_FROM_BIN=\"${relative}\"")
  get_filename_component(link "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${relative}" ABSOLUTE)
  get_filename_component(folder "${link}" DIRECTORY)
  file(MAKE_DIRECTORY "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}" "${folder}" "${ARGV2}")
  file(CREATE_LINK "${ARGV2}" "${link}" SYMBOLIC)
endfunction()

_ops_define_path(OPS_PROVIDER_DIR "${OPS_INSTALL_PROVIDERS}" "${CMAKE_LIBRARY_OUTPUT_DIRECTORY}")
_ops_define_path(OPS_CONTRACTS_DIR "${OPS_INSTALL_CONTRACTS}" "${PROJECT_SOURCE_DIR}/contracts")
