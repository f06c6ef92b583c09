# Settings shared by every target: standard, warnings, ccache, sanitizers, and the helpers that keep
# the layers apart.

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# Our code around torch is not where time goes, and compiles a third faster so; kernels ask for -O3.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
# -fPIC by hand, not by POSITION_INDEPENDENT_CODE: executables would get -fPIE, and GCC refuses a
# precompiled header that was made with the other flag.
add_compile_options(-fPIC)

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # The sloppiness is what ccache asks for before it caches files that use a precompiled header;
  # with paths relative to the tree, two clones share what they compile alike.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE})
endif()

if(HEED_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()
if(HEED_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

add_library(heed_warnings INTERFACE)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)  # clang, which only fuzzes, has warnings of its own
  target_compile_options(heed_warnings INTERFACE -Wall -Wextra -Wshadow=local -Wconversion -Wno-sign-conversion
                         -Wno-missing-field-initializers -Werror)
endif()

# Every file that sees torch pays some five seconds for templates its headers leave pending, the
# precompiled header notwithstanding, so files are compiled several at a time.
function(heed_use_torch_header target)
  target_precompile_headers(${target} REUSE_FROM heed_torch_pch)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
endfunction()

# heed_test(NAME [TORCH] SOURCES ... USES ...): one GoogleTest program a folder, each case known to ctest.
function(heed_test name)
  cmake_parse_arguments(ARG "TORCH" "" "SOURCES;USES" ${ARGN})
  add_executable(test_${name} ${ARG_SOURCES})
  target_include_directories(test_${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests
                                                  ${PROJECT_BINARY_DIR}/tests)
  target_link_libraries(test_${name} PRIVATE ${ARG_USES} GTest::gtest_main GTest::gmock heed_warnings)
  if(ARG_TORCH)
    heed_use_torch_header(test_${name})
  endif()
  add_test(NAME ${name} COMMAND test_${name} --gtest_brief=1)
endfunction()

# heed_library(NAME [TORCH] [INTERNAL] SOURCES ... USES public... PRIVATE_USES private...): one static library a
# folder. INTERNAL: part of the command alone, not installed.
function(heed_library name)
  cmake_parse_arguments(ARG "TORCH;INTERNAL" "" "SOURCES;USES;PRIVATE_USES" ${ARGN})
  add_library(heed_${name} STATIC ${ARG_SOURCES})
  add_library(heed::${name} ALIAS heed_${name})
  set_target_properties(heed_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(heed_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                                 $<INSTALL_INTERFACE:include>
                                          PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_compile_features(heed_${name} PUBLIC cxx_std_20)
  target_link_libraries(heed_${name} PUBLIC ${ARG_USES} PRIVATE ${ARG_PRIVATE_USES} $<BUILD_INTERFACE:heed_warnings>)
  # The sanitizers make every header dear; kernels are compiled once a SIMD target, a file at a time.
  if(HEED_SANITIZE AND NOT name STREQUAL kernels)
    set_target_properties(heed_${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
  if(ARG_TORCH)
    target_link_libraries(heed_${name} PUBLIC heed_torch)
    heed_use_torch_header(heed_${name})
  endif()
  if(NOT ARG_INTERNAL)
    set_property(GLOBAL APPEND PROPERTY HEED_LIBRARIES heed_${name})
  endif()
endfunction()

# Everything a target links, followed through the libraries it names.
function(heed_collect_links target out)
  set(seen ${${out}})
  if(TARGET ${target})
    get_target_property(aliased ${target} ALIASED_TARGET)
    if(aliased)
      set(target ${aliased})
    endif()
  endif()
  if(target IN_LIST seen)
    return()
  endif()
  list(APPEND seen ${target})
  if(TARGET ${target})
    get_target_property(type ${target} TYPE)
    foreach(property LINK_LIBRARIES INTERFACE_LINK_LIBRARIES)
      get_target_property(links ${target} ${property})
      if(links)
        foreach(link ${links})
          string(REGEX REPLACE "\\$<[A-Z_]+:(.*)>" "\\1" link "${link}")
          heed_collect_links(${link} seen)
        endforeach()
      endif()
    endforeach()
  endif()
  set(${out} ${seen} PARENT_SCOPE)
endfunction()

# Configuring fails if one of these would link torch: C++ users take them without it.
function(heed_assert_torch_free)
  foreach(target ${ARGN})
    set(links "")
    heed_collect_links(${target} links)
    foreach(link ${links})
      if(link MATCHES "torch|c10|ATen")
        message(FATAL_ERROR "${target} links ${link}; kernels, metrics and base must stay free of torch")
      endif()
    endforeach()
  endforeach()
endfunction()
