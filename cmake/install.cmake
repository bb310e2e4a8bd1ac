# cmake --install BUILD --prefix DIR [--component embed|program]
#
# embed: what programs need to embed Holdfast: the public headers, all modules in one static
# library, and a package file, so that find_package(holdfast) gives holdfast::holdfast. With
# COMPONENTS log_contract it also gives holdfast::log_contract: the tests that a log which a program
# supplies must pass; with lease_backend_contract the same for lease backends.
# program: the holdfast program, its manual page, completions, schemas and systemd unit.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# The archives of the modules, joined: programs link one file.
set(modules base storage/entry storage/sqlite storage/postgres storage/redis storage/log
  storage/journal net access runs/language/data runs/language/definition runs/language/cron
  runs/language/yaml runs/facts runs/lease_backends runs/dispatch runs/run runs/view runs/engine
  runs/inspect runs/api runs/steps runs/service runs/lease_adapter apps/embed apps/testkit
  apps/client)
set(joined "${CMAKE_BINARY_DIR}/lib/libholdfast.a")
set(script "CREATE ${joined}\n")
set(archives)
foreach(module IN LISTS modules)
  holdfast_target(target ${module})
  string(APPEND script "ADDLIB $<TARGET_FILE:${target}>\n")
  list(APPEND archives $<TARGET_FILE:${target}>)
endforeach()
string(APPEND script "SAVE\nEND\n")
file(GENERATE OUTPUT "${CMAKE_BINARY_DIR}/lib/join.mri" CONTENT "${script}")
add_custom_command(OUTPUT "${joined}"
  COMMAND "${CMAKE_COMMAND}" -E rm -f "${joined}"
  COMMAND "${CMAKE_AR}" -M < "${CMAKE_BINARY_DIR}/lib/join.mri"
  DEPENDS ${archives} "${CMAKE_BINARY_DIR}/lib/join.mri"
  COMMENT "Joining the modules into libholdfast.a"
  VERBATIM)
add_custom_target(holdfast_library ALL DEPENDS "${joined}")

# The contract suite for logs, for GoogleTest.
add_library(holdfast_log_contract STATIC "${PROJECT_SOURCE_DIR}/tests/support/store_contract.cc")
target_include_directories(holdfast_log_contract PUBLIC "${PROJECT_SOURCE_DIR}")
target_link_libraries(holdfast_log_contract PUBLIC holdfast_options GTest::gtest
  holdfast_storage_journal)
set_target_properties(holdfast_log_contract PROPERTIES
  ARCHIVE_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")

# The contract suite for lease backends, likewise.
add_library(holdfast_lease_backend_contract STATIC
  "${PROJECT_SOURCE_DIR}/tests/support/lease_backend_contract.cc")
target_include_directories(holdfast_lease_backend_contract PUBLIC "${PROJECT_SOURCE_DIR}")
target_link_libraries(holdfast_lease_backend_contract PUBLIC holdfast_options GTest::gtest
  holdfast_base)
set_target_properties(holdfast_lease_backend_contract PROPERTIES
  ARCHIVE_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/holdfast")
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/holdfastConfig.cmake.in"
  "${CMAKE_BINARY_DIR}/lib/holdfastConfig.cmake"
  INSTALL_DESTINATION "${package_dir}"
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR
  NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file("${CMAKE_BINARY_DIR}/lib/holdfastConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/holdfast"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT embed)
install(FILES "${joined}" $<TARGET_FILE:holdfast_log_contract>
  $<TARGET_FILE:holdfast_lease_backend_contract>
  DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT embed)
install(FILES "${CMAKE_BINARY_DIR}/lib/holdfastConfig.cmake"
  "${CMAKE_BINARY_DIR}/lib/holdfastConfigVersion.cmake"
  DESTINATION "${package_dir}" COMPONENT embed)

# The manual page and the completions are made by the program itself: they cannot be out of date.
set(share "${CMAKE_BINARY_DIR}/share")
add_custom_command(OUTPUT "${share}/holdfast.1" "${share}/holdfast.bash" "${share}/_holdfast"
  COMMAND "${CMAKE_COMMAND}" -E make_directory "${share}"
  COMMAND holdfast help --man > "${share}/holdfast.1"
  COMMAND holdfast completion bash > "${share}/holdfast.bash"
  COMMAND holdfast completion zsh > "${share}/_holdfast"
  DEPENDS holdfast
  COMMENT "Writing the manual page and the completions"
  VERBATIM)
add_custom_target(holdfast_share ALL
  DEPENDS "${share}/holdfast.1" "${share}/holdfast.bash" "${share}/_holdfast")

install(TARGETS holdfast RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT program)
install(FILES "${share}/holdfast.1" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT program)
install(FILES "${share}/holdfast.bash" RENAME holdfast
  DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" COMPONENT program)
install(FILES "${share}/_holdfast"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions" COMPONENT program)
install(FILES "${PROJECT_SOURCE_DIR}/schema/workflow.schema.json"
  "${PROJECT_SOURCE_DIR}/schema/openapi.json"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/holdfast" COMPONENT program)
install(FILES "${PROJECT_SOURCE_DIR}/packaging/holdfast.service"
  DESTINATION "lib/systemd/system" COMPONENT program OPTIONAL)
