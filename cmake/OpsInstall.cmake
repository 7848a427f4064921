# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where. Two components: OpsSDK is what a provider author compiles
# against; Tools is what judges and runs providers.

include(CMakePackageConfigHelpers)

set(_ops_package "${CMAKE_INSTALL_LIBDIR}/cmake/OpsSDK")
set(_ops_generated "${CMAKE_BINARY_DIR}/package")

# The SDK.
install(DIRECTORY sdk/include/ops DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT OpsSDK
        FILES_MATCHING PATTERN "*.h")
install(DIRECTORY sdk/support/ops_support DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        COMPONENT OpsSDK FILES_MATCHING PATTERN "*.h")
install(TARGETS ops_support ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT OpsSDK)
install(FILES sdk/abi/provider.map DESTINATION "${_ops_package}" COMPONENT OpsSDK)

configure_package_config_file(cmake/OpsSDKConfig.cmake.in "${_ops_generated}/OpsSDKConfig.cmake"
  INSTALL_DESTINATION "${_ops_package}"
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
# While the ABI is 0.x host and provider match exactly.
write_basic_package_version_file("${_ops_generated}/OpsSDKConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${_ops_generated}/OpsSDKConfig.cmake" "${_ops_generated}/OpsSDKConfigVersion.cmake"
        DESTINATION "${_ops_package}" COMPONENT OpsSDK)

file(RELATIVE_PATH OPS_PREFIX_FROM_PC "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" OPS_PREFIX_FROM_PC "${OPS_PREFIX_FROM_PC}")
configure_file(cmake/ops-sdk.pc.in "${_ops_generated}/ops-sdk.pc" @ONLY)
install(FILES "${_ops_generated}/ops-sdk.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig"
        COMPONENT OpsSDK)

# Tools, the bundled providers, the contracts.
foreach(tool IN ITEMS opsrun opsconform opsreplay opscontract)
  if(TARGET ${tool})
    install(TARGETS ${tool} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT Tools)
  endif()
endforeach()
foreach(provider IN ITEMS reference cpu opencl cuda)
  if(TARGET ops_${provider})
    install(TARGETS ops_${provider} LIBRARY DESTINATION "${OPS_INSTALL_PROVIDERS}"
            COMPONENT Tools)
  endif()
endforeach()
install(DIRECTORY contracts/ DESTINATION "${OPS_INSTALL_CONTRACTS}" COMPONENT Tools
        FILES_MATCHING PATTERN "*.yaml" PATTERN "*.md" PATTERN "*.txt" PATTERN "CMakeLists.txt" EXCLUDE)
# What states the reports of opsconform.
install(FILES conformance/report/report.schema.json conformance/report/junit.xsd
        DESTINATION "${CMAKE_INSTALL_DATADIR}/ops" COMPONENT Tools)
