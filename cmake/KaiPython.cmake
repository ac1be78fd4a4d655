# Python and pybind11, for modules that Python imports.
find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module)
if(NOT pybind11_DIR AND NOT SKBUILD)
  # In a checkout pybind11 is a package of .venv, which returns its folder; scikit-build-core finds it without help.
  execute_process(
    COMMAND "${Python_EXECUTABLE}" -c "import pybind11; print(pybind11.get_cmake_dir())"
    OUTPUT_VARIABLE pybind11_DIR OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
endif()
set(PYBIND11_FINDPYTHON ON)
find_package(pybind11 REQUIRED CONFIG)

# kai_python_module(<name> FOLDER <where a checkout imports it> LINKS <libraries>...)
#
# Every *.cc of the folder as one module.
function(kai_python_module name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "FOLDER" "LINKS")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS *.cc)
  kai_sources(sources ${name} ${sources})
  # NO_EXTRAS: link-time optimisation of this module alone would slow the link and reach none of the floors.
  pybind11_add_module(${name} MODULE NO_EXTRAS ${sources})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/cpp")
  target_link_libraries(${name} PRIVATE ${arg_LINKS})
  # Hide our symbols and those of static dependencies: another extension may contain another Abseil.
  target_link_options(${name} PRIVATE -Wl,--exclude-libs,ALL)
  if(KAI_INPLACE)
    set_target_properties(${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${PROJECT_SOURCE_DIR}/${arg_FOLDER}")
  endif()
endfunction()
