# Defines re2::re2. RE2 built with CMake has its own CMake package; Debian 12 and Ubuntu 24.04 build it with make,
# without one.
find_package(re2 CONFIG QUIET)
if(NOT re2_FOUND)
  find_path(RE2_INCLUDE_DIR re2/re2.h)
  find_library(RE2_LIBRARY re2)
  mark_as_advanced(RE2_INCLUDE_DIR RE2_LIBRARY)
endif()
include(FindPackageHandleStandardArgs)
if(re2_FOUND)
  find_package_handle_standard_args(re2 CONFIG_MODE)
else()
  find_package_handle_standard_args(re2 REQUIRED_VARS RE2_LIBRARY RE2_INCLUDE_DIR)
  if(re2_FOUND AND NOT TARGET re2::re2)
    add_library(re2::re2 UNKNOWN IMPORTED)
    set_target_properties(re2::re2 PROPERTIES
      IMPORTED_LOCATION "${RE2_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${RE2_INCLUDE_DIR}")
  endif()
endif()
