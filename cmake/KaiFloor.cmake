# kai_floor(<name> [FOR_TESTS] [TEST_SHARDS <n>] LINKS <libraries>... [TEST_LINKS <libraries>...])
#
# Makes one floor from the folder of the calling CMakeLists.txt:
#
#   kai_<name>            every *.cc, at any depth, as a static library; other floors link it as kai::<name>
#   kai_<name>_for_test   every *_for_test.cc, as a static library for the tests of this floor and of those above it
#   kai_<name>_test       every *_test.cc, registered with ctest as kai_<name>_test_1 ...  (KAI_TESTS)
#   kai_<name>_benchmark  every *_benchmark.cc                                              (KAI_BENCHMARKS)
#
# LINKS names all libraries that the floor's own headers and sources include. TEST_LINKS names those that only its tests
# and benchmarks need. Keep it short: `make test-<name>` builds everything in it. FOR_TESTS marks floors that are not part
# of the product. TEST_SHARDS splits slow tests among that many processes.
#
# Code that is only for tests is compiled more often than it runs, so release and sanitized builds optimise it less than
# the floors: helpers, which do most of the work (the plain scheduler, random clusters), with -O1, and the tests
# themselves with -O0, which halves their compile time under sanitizers.

# kai_sources(<out> <target> <files>...)
#
# The sources to compile for these files: the files, or with KAI_UNITY a few files that include them, so that headers are
# read and templates instantiated once for several. CMake's own unity builds name the files by absolute paths, which get
# into __FILE__: ccache then finds nothing for a clone in another folder.
function(kai_sources out target)
  string(COMPARE EQUAL "${KAI_UNITY}" TESTS only_tests)
  if(NOT KAI_UNITY OR NOT ARGN OR (only_tests AND NOT target MATCHES "_test$" AND NOT arg_FOR_TESTS))
    set(${out} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  set(batch_bytes 64000)  # some ten files: more make the last compiler run alone, fewer read headers more often
  set(units)
  set(text "")
  set(bytes 0)
  set(last "${ARGN}")
  list(POP_BACK last end)
  foreach(file IN LISTS ARGN)
    cmake_path(RELATIVE_PATH file BASE_DIRECTORY "${PROJECT_SOURCE_DIR}/cpp" OUTPUT_VARIABLE include)
    string(APPEND text "#include \"${include}\"\n")
    file(SIZE "${file}" size)
    math(EXPR bytes "${bytes} + ${size}")
    if(bytes GREATER batch_bytes OR file STREQUAL end)
      list(LENGTH units n)
      set(unit "${CMAKE_CURRENT_BINARY_DIR}/unity/${target}_${n}.cc")
      file(CONFIGURE OUTPUT "${unit}" CONTENT "${text}" @ONLY)
      list(APPEND units "${unit}")
      set(text "")
      set(bytes 0)
    endif()
  endforeach()
  set(${out} ${units} PARENT_SCOPE)
endfunction()

function(kai_floor name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "FOR_TESTS" "TEST_SHARDS" "LINKS;TEST_LINKS")

  file(GLOB_RECURSE sources CONFIGURE_DEPENDS *.cc)
  set(helpers ${sources})
  set(tests ${sources})
  set(benchmarks ${sources})
  list(FILTER sources EXCLUDE REGEX "_(test|benchmark)\\.cc$")
  list(FILTER helpers INCLUDE REGEX "_for_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER tests EXCLUDE REGEX "_for_test\\.cc$")
  list(FILTER benchmarks INCLUDE REGEX "_benchmark\\.cc$")

  kai_sources(sources kai_${name} ${sources})
  kai_sources(helpers kai_${name}_for_test ${helpers})
  kai_sources(tests kai_${name}_test ${tests})

  if(sources)
    add_library(kai_${name} STATIC ${sources})
    set(scope PUBLIC)
  else()
    add_library(kai_${name} INTERFACE)  # a floor of headers
    set(scope INTERFACE)
  endif()
  add_library(kai::${name} ALIAS kai_${name})
  target_include_directories(kai_${name} ${scope} "${PROJECT_SOURCE_DIR}/cpp")
  target_link_libraries(kai_${name} ${scope} ${arg_LINKS})

  set(hurried $<OR:$<CONFIG:Release>,$<BOOL:${KAI_SANITIZE}>,$<BOOL:${KAI_SANITIZE_THREADS}>>)
  if(arg_FOR_TESTS)
    target_compile_options(kai_${name} PRIVATE $<${hurried}:-O1>)
  endif()

  set(test_links kai::${name} ${arg_TEST_LINKS})
  if((KAI_TESTS OR KAI_BENCHMARKS) AND helpers)
    add_library(kai_${name}_for_test STATIC ${helpers})
    add_library(kai::${name}_for_test ALIAS kai_${name}_for_test)
    target_link_libraries(kai_${name}_for_test PUBLIC ${test_links} GTest::gmock)
    target_compile_options(kai_${name}_for_test PRIVATE $<${hurried}:-O1>)
    list(APPEND test_links kai::${name}_for_test)
  endif()

  if(KAI_TESTS AND tests)
    add_executable(kai_${name}_test ${tests})
    target_link_libraries(kai_${name}_test PRIVATE ${test_links} GTest::gmock GTest::gtest_main)
    target_compile_options(kai_${name}_test PRIVATE $<${hurried}:-O0>)
    # One ctest entry per floor or shard: a process per test case would cost more than the cases do.
    if(NOT arg_TEST_SHARDS)
      set(arg_TEST_SHARDS 1)
    endif()
    foreach(shard RANGE 1 ${arg_TEST_SHARDS})
      math(EXPR index "${shard} - 1")
      add_test(NAME kai_${name}_test_${shard} COMMAND kai_${name}_test --gtest_brief=1)
      set_tests_properties(kai_${name}_test_${shard} PROPERTIES
        ENVIRONMENT "GTEST_TOTAL_SHARDS=${arg_TEST_SHARDS};GTEST_SHARD_INDEX=${index}")
    endforeach()
  endif()

  if(KAI_BENCHMARKS AND benchmarks)
    add_executable(kai_${name}_benchmark ${benchmarks})
    target_link_libraries(kai_${name}_benchmark PRIVATE ${test_links} benchmark::benchmark_main)
  endif()
endfunction()
