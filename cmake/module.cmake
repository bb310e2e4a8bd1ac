# holdfast_module(PATH SOURCES ... [USES modules...] [LIBRARIES third-party...] [UNITY_FILES n]
#                 [TESTS files...] [TEST_SOURCES files...] [TEST_LIBRARIES targets...]
#                 [TEST_DEFINITIONS definitions...])
#
# Declares the module in src/PATH: a static library that may use the modules named in USES and the
# third-party libraries named in LIBRARIES, and nothing else. Modules are named by their path:
# runs/dispatch is the target holdfast_runs_dispatch. tools/tidy.py reads the same declaration and
# rejects an include of an undeclared module; the link test makes an undeclared symbol a build
# error. The files in TESTS make one test program, runs_dispatch_tests, together with what they need
# besides the module: TEST_SOURCES, TEST_LIBRARIES and TEST_DEFINITIONS.
#
# holdfast_tests(PROGRAM USES modules... [LABEL files...]... [SOURCES files...] [LIBRARIES ...]
#                [DEFINITIONS ...]) declares a test program that spans modules. LABEL is a label of
# CONTRIBUTING.md in upper case.
#
# Each file of tests, NAME_test.cc, is one test of ctest, NAME_test, and runs in its own process:
# PROGRAM --file=NAME_test.cc. It is also a build target, which builds the program. The files of a
# program are compiled together, so each keeps its names in a namespace named after it:
# namespace holdfast::NAME_test.
#
# holdfast_test(NAME SOURCES ... USES modules... [LABELS labels...]) declares a test program of one
# file that cannot be part of another: it has its own main, or registers tests of other files.

# The files of a module are compiled a few at a time, which takes a third of the time. Switch it
# off to work on a few files, and for tools that look at each file alone.
option(HOLDFAST_UNITY "Compile the files of a module together" ON)
set(HOLDFAST_UNITY_FILES 8)  # of a module that sets no other number
set(HOLDFAST_UNITY_TESTS 12)  # of a test program

# The target of a module: "runs/dispatch" is holdfast_runs_dispatch.
function(holdfast_target out path)
  string(REPLACE "/" "_" name "holdfast_${path}")
  set(${out} ${name} PARENT_SCOPE)
endfunction()

function(holdfast_module path)
  cmake_parse_arguments(arg "" "UNITY_FILES"
    "SOURCES;USES;LIBRARIES;TESTS;TEST_SOURCES;TEST_LIBRARIES;TEST_DEFINITIONS" ${ARGN})
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

  if(arg_TESTS)
    set(unit)
    set(property)
    set(contract)
    foreach(file IN LISTS arg_TESTS)
      if(file MATCHES "_prop_test.cc$")
        list(APPEND property ${file})
      elseif(file MATCHES "_pg_test.cc$")
        list(APPEND contract ${file})
      else()
        list(APPEND unit ${file})
      endif()
    endforeach()
    string(REPLACE "/" "_" program "${path}_tests")
    holdfast_tests(${program} USES ${path} UNIT ${unit} PROPERTY ${property} CONTRACT ${contract}
      SOURCES ${arg_TEST_SOURCES} LIBRARIES ${arg_TEST_LIBRARIES}
      DEFINITIONS ${arg_TEST_DEFINITIONS})
  endif()
endfunction()

# The code under test is optimised, with and without sanitizers. The tests themselves are compiled
# without optimisation: that takes half the time, and _FORTIFY_SOURCE needs optimisation.
set(HOLDFAST_TEST_OPTIONS -O0 -U_FORTIFY_SOURCE)

# What all test programs have in common.
function(holdfast_test_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;USES;LIBRARIES" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_compile_options(${name} PRIVATE ${HOLDFAST_TEST_OPTIONS})
  # g++ 12 reports errors in std::string that are not there when it optimises a little.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${name} PRIVATE -Wno-array-bounds -Wno-stringop-overflow
      -Wno-stringop-overread -Wno-maybe-uninitialized -Wno-free-nonheap-object)
  endif()
  target_link_libraries(${name} PRIVATE holdfast_options GTest::gtest GTest::gmock
    ${arg_LIBRARIES} Threads::Threads)
  foreach(used IN LISTS arg_USES)
    holdfast_target(used_target ${used})
    target_link_libraries(${name} PRIVATE ${used_target})
  endforeach()
  target_include_directories(${name} SYSTEM PRIVATE "${HOLDFAST_RAPIDCHECK_INCLUDE}")
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE "${HOLDFAST_RAPIDCHECK_LIBRARY}")
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
endfunction()

# The main function of test programs, with the option --file.
add_library(holdfast_test_main STATIC EXCLUDE_FROM_ALL
  "${PROJECT_SOURCE_DIR}/tests/support/test_main.cc")
target_compile_options(holdfast_test_main PRIVATE ${HOLDFAST_TEST_OPTIONS})
target_link_libraries(holdfast_test_main PUBLIC holdfast_options GTest::gtest)

function(holdfast_tests program)
  set(labels unit property contract crash faults fuzz integration compat docs)
  string(TOUPPER "${labels}" label_keywords)
  cmake_parse_arguments(arg "" "" "USES;SOURCES;LIBRARIES;DEFINITIONS;${label_keywords}" ${ARGN})
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "holdfast_tests(${program}): not a label: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  set(files)
  foreach(keyword IN LISTS label_keywords)
    list(APPEND files ${arg_${keyword}})
  endforeach()
  holdfast_test_program(${program} SOURCES ${files} ${arg_SOURCES} USES ${arg_USES}
    LIBRARIES holdfast_test_main ${arg_LIBRARIES})
  target_compile_definitions(${program} PRIVATE ${arg_DEFINITIONS})
  set_target_properties(${program} PROPERTIES UNITY_BUILD ${HOLDFAST_UNITY}
    UNITY_BUILD_BATCH_SIZE ${HOLDFAST_UNITY_TESTS})
  if(arg_SOURCES)
    set_source_files_properties(${arg_SOURCES} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
  foreach(label IN LISTS labels)
    string(TOUPPER ${label} keyword)
    foreach(file IN LISTS arg_${keyword})
      get_filename_component(name "${file}" NAME_WE)
      add_test(NAME ${name} COMMAND ${program} --file=${name}.cc)
      set_tests_properties(${name} PROPERTIES LABELS ${label})
      add_custom_target(${name})
      add_dependencies(${name} ${program})
    endforeach()
  endforeach()
endfunction()

function(holdfast_test name)
  cmake_parse_arguments(arg "" "" "LABELS" ${ARGN})
  holdfast_test_program(${name} ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}")
endfunction()
