# LibTorch from the Python wheel, and its header precompiled once for all targets that use it.

if(NOT DEFINED Torch_DIR)
  find_program(HEED_PYTHON_EXECUTABLE NAMES python python3 PATHS ${PROJECT_SOURCE_DIR}/.venv/bin NO_DEFAULT_PATH)
  find_program(HEED_PYTHON_EXECUTABLE NAMES python3)
  if(DEFINED Python_EXECUTABLE)  # scikit-build-core names the interpreter it builds for
    set(HEED_PYTHON_EXECUTABLE ${Python_EXECUTABLE})
  endif()
  execute_process(
    COMMAND ${HEED_PYTHON_EXECUTABLE} -c "import torch; print(torch.utils.cmake_prefix_path)"
    OUTPUT_VARIABLE torch_prefix OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed ERROR_QUIET)
  if(failed)
    message(FATAL_ERROR "torch is not installed for ${HEED_PYTHON_EXECUTABLE}; run 'make setup', or pass -DHEED_TORCH=OFF for kernels and metrics only")
  endif()
  list(APPEND CMAKE_PREFIX_PATH ${torch_prefix})
endif()
find_package(Torch 2.13 REQUIRED)

add_library(heed_torch INTERFACE)
target_link_libraries(heed_torch INTERFACE "$<BUILD_INTERFACE:${TORCH_LIBRARIES}>")
target_include_directories(heed_torch SYSTEM INTERFACE "$<BUILD_INTERFACE:${TORCH_INCLUDE_DIRS}>")
set_target_properties(heed_torch PROPERTIES EXPORT_NAME torch)

file(WRITE ${PROJECT_BINARY_DIR}/torch_pch.cpp "// Owns the precompiled torch header.\n")
add_library(heed_torch_pch STATIC ${PROJECT_BINARY_DIR}/torch_pch.cpp)
target_link_libraries(heed_torch_pch PRIVATE heed_torch heed_warnings)
# Not all of torch/torch.h: the parts we use take a third less time in every file.
target_precompile_headers(heed_torch_pch PRIVATE
  <torch/types.h> <torch/nn/module.h> <torch/nn/pimpl.h> <torch/nn/init.h>
  <torch/nn/modules/conv.h> <torch/nn/modules/embedding.h> <torch/nn/modules/linear.h> <torch/nn/modules/rnn.h>)
