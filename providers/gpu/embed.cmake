# SPDX-License-Identifier: Apache-2.0
# Writes OUTPUT, a C file that holds the text of INPUT: as the gpu_source SYMBOL with NAME, or, if
# NAME is empty, as the array of characters SYMBOL.
file(READ "${INPUT}" hex HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
if(NAME STREQUAL "")
  file(WRITE "${OUTPUT}" "extern const char ${SYMBOL}[];\nconst char ${SYMBOL}[] = {${bytes}0};\n")
else()
  file(WRITE "${OUTPUT}" "#include \"gpu.h\"\nextern const gpu_source ${SYMBOL};\n"
    "static const char kText[] = {${bytes}0};\n"
    "const gpu_source ${SYMBOL} = {\"${NAME}\", kText};\n")
endif()
