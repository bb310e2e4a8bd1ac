# One set of compiler settings for everything we build.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(HOLDFAST_CCACHE ccache)
if(HOLDFAST_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${HOLDFAST_CCACHE}")
endif()

option(HOLDFAST_FUZZ "Build the fuzz targets (clang) instead of the tests" OFF)
set(HOLDFAST_SANITIZE "" CACHE STRING "Sanitizers to build with: empty, address, thread or fuzzer")
set_property(CACHE HOLDFAST_SANITIZE PROPERTY STRINGS "" address thread fuzzer)

# gold, which is part of binutils, links in a third of the time that the default linker takes. With
# the AddressSanitizer of clang it warns about every symbol of the runtime.
find_program(HOLDFAST_GOLD ld.gold)
if(HOLDFAST_GOLD AND NOT HOLDFAST_SANITIZE MATCHES "address|fuzzer")
  add_link_options(-fuse-ld=gold)
endif()

add_library(holdfast_options INTERFACE)
target_compile_options(holdfast_options INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wold-style-cast
  -Wnon-virtual-dtor -Woverloaded-virtual -Werror -Werror=switch-enum)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 reports overlaps inside std::string that are not there (its bug 105651).
  target_compile_options(holdfast_options INTERFACE -Wno-restrict)
endif()
target_compile_definitions(holdfast_options INTERFACE _GLIBCXX_ASSERTIONS)
target_include_directories(holdfast_options INTERFACE
  "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include")

# -O2 instead of the -O3 of CMake: it compiles faster.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

if(CMAKE_BUILD_TYPE STREQUAL "Release")
  target_compile_options(holdfast_options INTERFACE -fstack-protector-strong)
  target_compile_definitions(holdfast_options INTERFACE _FORTIFY_SOURCE=2)
endif()

if(HOLDFAST_SANITIZE STREQUAL "address")
  # The check of vptr opens a pipe, so it reports correct calls in tests without descriptors.
  set(sanitize_flags -fsanitize=address,undefined -fno-sanitize=vptr -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
elseif(HOLDFAST_SANITIZE STREQUAL "thread")
  set(sanitize_flags -fsanitize=thread -fno-omit-frame-pointer)
elseif(HOLDFAST_SANITIZE STREQUAL "fuzzer")
  # The modules report what they cover; only the targets of fuzz/ bring the fuzzer's own main.
  set(sanitize_flags -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
elseif(NOT HOLDFAST_SANITIZE STREQUAL "")
  message(FATAL_ERROR "HOLDFAST_SANITIZE must be empty, address, thread or fuzzer")
endif()
if(HOLDFAST_SANITIZE)
  target_compile_options(holdfast_options INTERFACE ${sanitize_flags})
  target_link_options(holdfast_options INTERFACE ${sanitize_flags})
  target_compile_definitions(holdfast_options INTERFACE HOLDFAST_SANITIZED)
endif()
