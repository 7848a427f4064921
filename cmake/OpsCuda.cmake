# SPDX-License-Identifier: Apache-2.0
# Where the CUDA Toolkit is, if there is one. Nothing of it is linked: headers are compiled
# against, libraries are opened when the provider runs. Looked for, in this order: CUDA_PATH (as
# a variable of CMake or of the environment), /usr/local/cuda, what `ci/deps --cuda` installed.
#   ops_cuda_find(OUT_REASON)   sets OUT_REASON to why CUDA cannot be built, empty if it can;
#                               then the interface target ops_cuda_headers exists
# CMAKE_CUDA_ARCHITECTURES: compute capabilities for which all kernels are compiled as a check.

set(CMAKE_CUDA_ARCHITECTURES "80;90" CACHE STRING
    "Compute capabilities for which the build checks CUDA kernels")
set(OPS_CUDA_OLDEST 12000)  # the Toolkit, as CUDA_VERSION counts

function(_ops_cuda_header out file)
  unset(${out} CACHE)
  find_path(${out} ${file} PATHS ${ARGN} NO_DEFAULT_PATH)
endfunction()

function(_ops_cuda_roots out)
  set(wheels "${PROJECT_SOURCE_DIR}/.cache/cuda/nvidia")
  set(${out} ${CUDA_PATH} $ENV{CUDA_PATH} /usr/local/cuda "${wheels}/cu13" PARENT_SCOPE)
endfunction()

# The first root that holds both headers is the Toolkit; what else it has is optional.
function(ops_cuda_find reason)
  set(${reason} "no Toolkit found: neither CUDA_PATH nor /usr/local/cuda nor .cache/cuda (ci/deps --cuda) \
has include/cuda.h, nvrtc.h and cublasLt.h" PARENT_SCOPE)
  _ops_cuda_roots(roots)
  foreach(root IN LISTS roots)
    if(EXISTS "${root}/include/cuda.h" AND EXISTS "${root}/include/nvrtc.h"
       AND EXISTS "${root}/include/cublasLt.h")
      file(STRINGS "${root}/include/cuda.h" line REGEX "^#define CUDA_VERSION [0-9]+")
      string(REGEX REPLACE "[^0-9]" "" version "${line}")
      if(version LESS OPS_CUDA_OLDEST)
        set(${reason} "the Toolkit in ${root} is version ${version}, needed is ${OPS_CUDA_OLDEST}"
            PARENT_SCOPE)
        continue()
      endif()
      _ops_cuda_target("${root}" "${version}")
      set(${reason} "" PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

function(_ops_cuda_target root version)
  _ops_cuda_header(OPS_CUDNN_INCLUDE cudnn.h "${root}/include" "${root}/../cudnn/include" /usr/include
                   /usr/include/x86_64-linux-gnu)
  file(GLOB libraries LIST_DIRECTORIES true "${root}/lib64" "${root}/lib" "${root}/../cudnn/lib")
  list(JOIN libraries ":" path)
  add_library(ops_cuda_headers INTERFACE)
  # System headers: their warnings are not ours.
  target_include_directories(ops_cuda_headers SYSTEM INTERFACE "${root}/include")
  target_compile_definitions(ops_cuda_headers INTERFACE "OPS_CUDA_LIBRARY_PATH=\"${path}\"")
  set(parts "Toolkit ${version} in ${root}")
  if(OPS_CUDNN_INCLUDE)
    target_include_directories(ops_cuda_headers SYSTEM INTERFACE "${OPS_CUDNN_INCLUDE}")
  else()
    string(APPEND parts ", without cuDNN")
  endif()
  find_file(OPS_CUDA_STUB libcuda.so NO_DEFAULT_PATH PATHS "${root}/lib64/stubs" "${root}/lib/stubs")
  message(STATUS "cuda: ${parts}; kernels are checked for ${CMAKE_CUDA_ARCHITECTURES}")
endfunction()
