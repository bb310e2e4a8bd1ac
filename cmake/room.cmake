# holdfast_room(NAME SOURCES ... [USES rooms...] [LIBRARIES third-party...] [TESTS files...])
#
# Declares one room of the house: a static library holdfast_NAME that may use the rooms named
# in USES and the third-party libraries named in LIBRARIES, and nothing else. tools/tidy.py
# reads the same declaration and refuses an include of an undeclared room; the link test makes
# an undeclared symbol a build error. Each file in TESTS becomes one test program.
#
# holdfast_test(NAME SOURCES ... USES rooms... [LABELS labels...] [TIMEOUT seconds]) declares
# a test program that spans rooms.

function(holdfast_room name)
  cmake_parse_arguments(arg "" "" "SOURCES;USES;LIBRARIES;TESTS" ${ARGN})
  add_library(holdfast_${name} STATIC ${arg_SOURCES})
  target_link_libraries(holdfast_${name} PUBLIC holdfast_options PRIVATE ${arg_LIBRARIES})
  foreach(used IN LISTS arg_USES)
    target_link_libraries(holdfast_${name} PUBLIC holdfast_${used})
  endforeach()

  # An empty program linked with the whole room finds every symbol the room uses but did not
  # declare.
  file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/${name}_link.cc" "int main() { return 0; }\n")
  add_executable(${name}_link_test "${CMAKE_CURRENT_BINARY_DIR}/${name}_link.cc")
  target_link_libraries(${name}_link_test PRIVATE
    -Wl,--whole-archive holdfast_${name} -Wl,--no-whole-archive holdfast_options)
  set_target_properties(${name}_link_test PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/link_tests")

  foreach(test_source IN LISTS arg_TESTS)
    get_filename_component(test_name "${test_source}" NAME_WE)
    set(labels unit)
    if(test_name MATCHES "_prop_test$")
      set(labels property)
    elseif(test_name MATCHES "_pg_test$")
      set(labels contract)
    endif()
    holdfast_test(${name}_${test_name} SOURCES ${test_source} USES ${name} LABELS ${labels})
  endforeach()
endfunction()

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
  target_link_libraries(${name} PRIVATE holdfast_options GTest::gtest GTest::gmock
    GTest::gtest_main ${arg_LIBRARIES} Threads::Threads)
  foreach(used IN LISTS arg_USES)
    target_link_libraries(${name} PRIVATE holdfast_${used})
  endforeach()
  target_include_directories(${name} SYSTEM PRIVATE "${HOLDFAST_RAPIDCHECK_INCLUDE}")
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE "${HOLDFAST_RAPIDCHECK_LIBRARY}")
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT})
endfunction()
