# The language, the warnings and the sanitizers, the same for every target.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)  # the floors end up inside a Python module
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)    # for clangd
# Only Python calls into the module from outside: calls inside it need no table, and can be inlined.
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release or Debug" FORCE)
endif()

# ccache gets paths below the checkout as relative paths, so a clone in another folder reuses what this one compiled.
# Messages and debug information then have relative paths, too, which would make debugging harder.
find_program(KAI_CCACHE ccache)
if(KAI_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${KAI_CCACHE}")
  if(KAI_SANITIZE OR KAI_SANITIZE_THREADS OR NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
    list(PREPEND CMAKE_CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1)
  endif()
endif()

# GCC collects garbage whenever its heap has grown by a part. Collecting less often saves a tenth of the time.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(--param=ggc-min-expand=200 --param=ggc-min-heapsize=262144 --param=large-unit-insns=100000)
endif()

add_compile_options(-Wall -Wextra -Wshadow)
if(KAI_WERROR)
  add_compile_options(-Werror)
endif()

# Scores are compared bit for bit, so a*b+c has to round twice on every machine (aarch64 would fuse it by default).
add_compile_options(-ffp-contract=off)

if(KAI_SANITIZE)
  # -O1 keeps the tests quick and stacks readable; -g1 is enough for file and line, and halves the size of objects.
  add_compile_options(-O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all)
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
  add_link_options(-fsanitize=address,undefined)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC documents that this warning is unreliable with the sanitizers; the release build keeps it.
    add_compile_options(-Wno-maybe-uninitialized)
    # With these three GCC no longer assumes that a function's address is not null, and newer Abseil does not compile.
# The address sanitizer still reports a null pointer when it is used.
    add_compile_options(-fno-sanitize=null,nonnull-attribute,returns-nonnull-attribute)
  endif()
endif()

if(KAI_SANITIZE_THREADS)
  add_compile_options(-O1 -g1 -fno-omit-frame-pointer -fsanitize=thread)
  add_link_options(-fsanitize=thread)
endif()

if(KAI_LIBFUZZER)
  add_compile_options(-fsanitize=fuzzer-no-link)  # libFuzzer follows coverage, so every floor has to report it
endif()
