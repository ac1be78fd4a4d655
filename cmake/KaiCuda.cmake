# Finds the headers of the CUDA driver and of NVML: KAI_CUDA_INCLUDES. The guard needs nothing else of CUDA.
#
# They come with a toolkit (CUDA_HOME, or /usr/local/cuda), or with two small Python packages of NVIDIA's that
# tools/requirements-dev.txt pins.
execute_process(
  COMMAND "${Python_EXECUTABLE}" -c "import sysconfig; print(sysconfig.get_path('purelib'))"
  OUTPUT_VARIABLE kai_packages OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
set(kai_cuda_places "$ENV{CUDA_HOME}/include" /usr/local/cuda/include "${kai_packages}/nvidia/cu13/include")
find_path(KAI_CUDA_INCLUDE cuda.h PATHS ${kai_cuda_places} NO_DEFAULT_PATH)
find_path(KAI_NVML_INCLUDE nvml.h PATHS ${kai_cuda_places} NO_DEFAULT_PATH)
mark_as_advanced(KAI_CUDA_INCLUDE KAI_NVML_INCLUDE)
if(NOT KAI_CUDA_INCLUDE OR NOT KAI_NVML_INCLUDE)
  message(FATAL_ERROR "KAI_GUARD=ON needs cuda.h and nvml.h: set CUDA_HOME to a CUDA toolkit, or run "
    "`pip install nvidia-cuda-runtime nvidia-nvml-dev` (in a checkout: tools/setup.sh python)")
endif()
set(KAI_CUDA_INCLUDES "${KAI_CUDA_INCLUDE}" "${KAI_NVML_INCLUDE}")
list(REMOVE_DUPLICATES KAI_CUDA_INCLUDES)
