# holdfast_module(PATH SOURCES ... [USES modules...] [LIBRARIES third-party...] [TESTS files...]
#                 [UNITY_FILES n])
#
# Declares the module in src/PATH: a static library that may use the modules named in USES and the
# third-party libraries named in LIBRARIES, and nothing else. Modules are named by their path:
# runs/dispatch is the target holdfast_runs_dispatch. tools/tidy.py reads the same declaration and
# rejects an include of an undeclared module; the link test makes an undeclared symbol a build
# error. Each file in TESTS becomes one test program of the same name.
#
# holdfast_test(NAME SOURCES ... USES modules... [LABELS labels...] [TIMEOUT seconds]) declares
# a test program that spans modules.

# The files of a module are compiled a few at a time, which takes a third of the time. Switch it
# off to work on a few files, and for tools that look at each file alone.
option(HOLDFAST_UNITY "Compile the files of a module together" ON)
set(HOLDFAST_UNITY_FILES 8)  # of a module that sets no other number

# The target of a module: "runs/dispatch" is holdfast_runs_dispatch.
function(holdfast_target out path)
  string(REPLACE "/" "_" name "holdfast_${path}")
  set(${out} ${name} PARENT_SCOPE)
endfunction()

function(holdfast_module path)
  cmake_parse_arguments(arg "" "UNITY_FILES" "SOURCES;USES;LIBRARIES;TESTS" ${ARGN})
  if(NOT arg_UNITY_FILES)
    set(arg_UNITY_FILES ${HOLDFAST_UNITY_FILES})
  endif()
  holdfast_target(target ${path})
  add_library(${target} STATIC ${arg_SOURCES})
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${HOLDFAST_UNITY}
    UNITY_BUILD_BATCH_SIZE ${arg_UNITY_FILES})
  target_link_libraries(${target} PUBLIC holdfast_options PRIVATE ${arg_LIBRARIES})
  foreach(used IN LISTS arg_USES)
    holdfast_target(used_target ${used})
    target_link_libraries(${target} PUBLIC ${used_target})
  endforeach()

  # An empty program linked with the whole module finds every symbol that the module uses and did
  # not declare.
  file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/link.cc" "int main() { return 0; }\n")
  add_executable(${target}_link_test "${CMAKE_CURRENT_BINARY_DIR}/link.cc")
  target_link_libraries(${target}_link_test PRIVATE
    -Wl,--whole-archive ${target} -Wl,--no-whole-archive holdfast_options)
  set_target_properties(${target}_link_test PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/link_tests")

  foreach(test_source IN LISTS arg_TESTS)
    get_filename_component(test_name "${test_source}" NAME_WE)
    set(labels unit)
    if(test_name MATCHES "_prop_test$")
      set(labels property)
    elseif(test_name MATCHES "_pg_test$")
      set(labels contract)
    endif()
    holdfast_test(${test_name} SOURCES ${test_source} USES ${path} LABELS ${labels})
  endforeach()
endfunction()

# What nearly every test includes, read once.
add_executable(holdfast_test_headers EXCLUDE_FROM_ALL "${CMAKE_CURRENT_LIST_DIR}/test_headers.cc")
target_compile_options(holdfast_test_headers PRIVATE $<$<CONFIG:Release>:-O1>)
target_link_libraries(holdfast_test_headers PRIVATE holdfast_options GTest::gtest GTest::gmock
  Threads::Threads)
target_precompile_headers(holdfast_test_headers PRIVATE <gmock/gmock.h> <gtest/gtest.h> <algorithm>
  <chrono> <deque> <functional> <map> <memory> <optional> <set> <sstream> <string> <string_view>
  <unordered_map> <variant> <vector>)

function(holdfast_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;USES;LIBRARIES;LABELS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  if(HOLDFAST_TIMEOUT_FACTOR)
    math(EXPR arg_TIMEOUT "${arg_TIMEOUT} * ${HOLDFAST_TIMEOUT_FACTOR}")
  endif()
  add_executable(${name} ${arg_SOURCES})
  # What is tested is optimised; the tests themselves are only to be built quickly.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  # What g++ 12 believes to see in std::string when it optimises a little is not there.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${name} PRIVATE -Wno-array-bounds -Wno-stringop-overflow
      -Wno-stringop-overread -Wno-maybe-uninitialized -Wno-free-nonheap-object)
  endif()
  target_link_libraries(${name} PRIVATE holdfast_options GTest::gtest GTest::gmock
    GTest::gtest_main ${arg_LIBRARIES} Threads::Threads)
  foreach(used IN LISTS arg_USES)
    holdfast_target(used_target ${used})
    target_link_libraries(${name} PRIVATE ${used_target})
  endforeach()
  target_include_directories(${name} SYSTEM PRIVATE "${HOLDFAST_RAPIDCHECK_INCLUDE}")
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE "${HOLDFAST_RAPIDCHECK_LIBRARY}")
  target_precompile_headers(${name} REUSE_FROM holdfast_test_headers)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT})
endfunction()
