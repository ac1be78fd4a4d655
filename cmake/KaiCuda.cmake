# Finds the headers of the CUDA driver and of NVML: KAI_CUDA_INCLUDES, which is empty if KAI_GUARD is AUTO and they are
# missing. The guard needs nothing else of CUDA.
#
# They come with a toolkit (CUDA_HOME, or /usr/local/cuda), or with two Python packages of NVIDIA's that
# tools/requirements-dev.txt pins. `make demo` installs neither.
set(KAI_CUDA_INCLUDES)
find_package(Python 3.10 COMPONENTS Interpreter)
set(kai_cuda_places "$ENV{CUDA_HOME}/include" /usr/local/cuda/include)
if(Python_Interpreter_FOUND)
  execute_process(
    COMMAND "${Python_EXECUTABLE}" -c "import importlib.util as find
found = find.find_spec('nvidia')
print(';'.join(f'{each}/cu13/include' for each in (found.submodule_search_locations if found else ())))"
    OUTPUT_VARIABLE kai_packages OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  list(APPEND kai_cuda_places ${kai_packages})
endif()
# tools/setup.sh writes it after it has installed packages: then Ninja looks for the headers again.
set(kai_stamp "${PROJECT_SOURCE_DIR}/.venv/stamp")
if(EXISTS "${kai_stamp}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${kai_stamp}")
endif()
find_path(KAI_CUDA_INCLUDE cuda.h PATHS ${kai_cuda_places} NO_DEFAULT_PATH)
find_path(KAI_NVML_INCLUDE nvml.h PATHS ${kai_cuda_places} NO_DEFAULT_PATH)
mark_as_advanced(KAI_CUDA_INCLUDE KAI_NVML_INCLUDE)
if(Python_Interpreter_FOUND AND KAI_CUDA_INCLUDE AND KAI_NVML_INCLUDE)
  set(KAI_CUDA_INCLUDES "${KAI_CUDA_INCLUDE}" "${KAI_NVML_INCLUDE}")
  list(REMOVE_DUPLICATES KAI_CUDA_INCLUDES)
elseif(KAI_GUARD STREQUAL "AUTO")
  message(STATUS "The guard is not built: it needs cuda.h and nvml.h (tools/setup.sh python)")
else()
  message(FATAL_ERROR "KAI_GUARD=ON needs Python 3.10, cuda.h and nvml.h: set CUDA_HOME to a CUDA toolkit, or run "
    "`pip install nvidia-cuda-runtime nvidia-nvml-dev` (in a checkout: tools/setup.sh python)")
endif()
