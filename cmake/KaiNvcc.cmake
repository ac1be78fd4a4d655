# KAI_CUDA=ON: finds nvcc and turns on the language CUDA. In this order: CMAKE_CUDA_COMPILER or CUDACXX, a toolkit in
# CUDA_HOME, one on the path or in /usr/local/cuda, and the packages of NVIDIA's that tools/setup.sh cuda installs.
#
# find_package(CUDAToolkit) is not used: the packages have no libcudart.so. CMake links CUDA's runtime statically.
if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  set(kai_wheels ${kai_packages})
  list(TRANSFORM kai_wheels REPLACE "/include$" "/bin")
  find_program(KAI_NVCC nvcc HINTS "$ENV{CUDA_HOME}/bin" PATHS /usr/local/cuda/bin ${kai_wheels})
  mark_as_advanced(KAI_NVCC)
  if(NOT KAI_NVCC)
    message(FATAL_ERROR "KAI_CUDA=ON needs nvcc: set CUDA_HOME to a CUDA toolkit, or run tools/setup.sh cuda")
  endif()
  set(CMAKE_CUDA_COMPILER "${KAI_NVCC}")
endif()
# Code for each generation of devices, and text for later ones, which a driver compiles.
set(KAI_CUDA_ARCHITECTURES 75-real 80-real 86-real 89-real 90-real 100-real 103-real 120
  CACHE STRING "Devices that the programs of guard/device are compiled for")
set(CMAKE_CUDA_ARCHITECTURES ${KAI_CUDA_ARCHITECTURES})
enable_language(CUDA)
message(STATUS "CUDA ${CMAKE_CUDA_COMPILER_VERSION}: ${CMAKE_CUDA_COMPILER}")
