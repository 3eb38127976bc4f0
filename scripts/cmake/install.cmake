# What `cmake --install` and the packages hold: the product stripped, what was stripped off beside it (component `dbg`, found
# by gdb through .gnu_debuglink wherever the folder lies), and nothing that says where it was built.
include(GNUInstallDirs)
# Debian's own default below /usr has the processor in it; LD_PRELOAD=librdmacheck.so finds the plain folder too.
if(NOT RDMACHECK_LIBDIR)
  set(RDMACHECK_LIBDIR lib)
endif()
option(RDMACHECK_STRIP "Install the product stripped, with debug files beside; OFF: as built, for a packager's own tools" ON)

# The same source gives the same bytes in any folder. What was built for a debugger or a sanitizer keeps its paths.
function(rdmacheck_same_bytes_everywhere)
  if(RDMACHECK_SANITIZE OR CMAKE_BUILD_TYPE STREQUAL "Debug")
    return()
  endif()
  # The last map that fits is taken, and RDMACHECK_DEPS may lie in the checkout.
  set(maps -ffile-prefix-map=${PROJECT_SOURCE_DIR}=. -ffile-prefix-map=${PROJECT_BINARY_DIR}=./build)
  # Who does not develop it gets the same code with functions and lines, and without the variables of -g: it compiles in
  # two thirds of the time.
  if(RDMACHECK_BUILD_TESTS)
    add_compile_options(-ffile-prefix-map=${RDMACHECK_DEPS}=deps ${maps})
  else()
    add_compile_options(${maps} -ffile-prefix-map=${RDMACHECK_DEPS}=deps -g1)
  endif()
  set_directory_properties(PROPERTIES LINK_OPTIONS LINKER:--build-id=sha1)
endfunction()

function(rdmacheck_install_stripped target folder)
  if(NOT RDMACHECK_STRIP OR RDMACHECK_SANITIZE)
    install(TARGETS ${target} LIBRARY DESTINATION ${folder} RUNTIME DESTINATION ${folder})
    return()
  endif()
  get_target_property(type ${target} TYPE)
  get_target_property(name ${target} OUTPUT_NAME)
  if(type STREQUAL MODULE_LIBRARY)
    set(name lib${target}.so)
  endif()
  set(out ${CMAKE_BINARY_DIR}/stripped/${name})
  add_custom_command(OUTPUT ${out} ${out}.debug
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/stripped
    COMMAND ${CMAKE_OBJCOPY} --only-keep-debug --compress-debug-sections=zlib $<TARGET_FILE:${target}> ${out}.debug
    COMMAND ${CMAKE_OBJCOPY} --strip-unneeded --add-gnu-debuglink=${out}.debug $<TARGET_FILE:${target}> ${out}
    DEPENDS ${target} VERBATIM)
  add_custom_target(stripped_${target} ALL DEPENDS ${out} ${out}.debug)
  install(PROGRAMS ${out} DESTINATION ${folder})
  install(FILES ${out}.debug DESTINATION ${folder}/.debug COMPONENT dbg)
endfunction()

# The suppressions that always hold, as a file to begin one's own with.
function(rdmacheck_write_suppressions file)
  file(STRINGS ${PROJECT_SOURCE_DIR}/report/suppressions.def rows REGEX "^RDMACHECK_SUPPRESSION")
  set(text "# RULE:PATTERN:REASON (docs/suppressions.md). These always hold; a file of your own adds to them.\n")
  foreach(row ${rows})
    if(NOT row MATCHES "^RDMACHECK_SUPPRESSION\\(\"([^\"]*)\", \"([^\"]*)\", \"([^\"]*)\"\\)$")
      message(FATAL_ERROR "report/suppressions.def: not of the form RDMACHECK_SUPPRESSION(\"…\", \"…\", \"…\"): ${row}")
    endif()
    string(APPEND text "${CMAKE_MATCH_1}:${CMAKE_MATCH_2}:${CMAKE_MATCH_3}\n")
  endforeach()
  file(WRITE ${file} "${text}")
endfunction()

function(rdmacheck_install)
  set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME runtime)
  rdmacheck_install_stripped(rdmacheck ${RDMACHECK_LIBDIR})
  rdmacheck_install_stripped(rdmafault ${RDMACHECK_LIBDIR})
  rdmacheck_install_stripped(rdmacheck_command bin)

  set(made ${PROJECT_BINARY_DIR}/installed)
  install(DIRECTORY interpose/include/rdmacheck DESTINATION include)
  install(PROGRAMS scripts/rxe-vm DESTINATION libexec/rdmacheck)
  rdmacheck_write_suppressions(${made}/suppressions)
  install(FILES ${made}/suppressions DESTINATION share/rdmacheck)

  # Both find the folder that they lie in by themselves.
  file(RELATIVE_PATH up /${RDMACHECK_LIBDIR}/pkgconfig /)
  string(REGEX REPLACE "/$" "" up "${up}")
  configure_file(scripts/cmake/rdmacheck.pc.in ${made}/rdmacheck.pc @ONLY)
  install(FILES ${made}/rdmacheck.pc DESTINATION ${RDMACHECK_LIBDIR}/pkgconfig)
  configure_file(scripts/cmake/rdmacheckConfig.cmake.in ${made}/rdmacheckConfig.cmake @ONLY)
  include(CMakePackageConfigHelpers)
  write_basic_package_version_file(${made}/rdmacheckConfigVersion.cmake VERSION ${PROJECT_VERSION}
    COMPATIBILITY SameMajorVersion)
  install(FILES ${made}/rdmacheckConfig.cmake ${made}/rdmacheckConfigVersion.cmake
      scripts/cmake/rdmacheck_add_test.cmake
    DESTINATION ${RDMACHECK_LIBDIR}/cmake/rdmacheck)

  install(FILES README.md CHANGELOG.md SECURITY.md LICENSE DESTINATION share/doc/rdmacheck)
  install(DIRECTORY docs DESTINATION share/doc/rdmacheck PATTERN docs/man EXCLUDE)
  install(FILES docs/man/rdmacheck.1 DESTINATION share/man/man1)
  install(FILES docs/man/librdmacheck.7 DESTINATION share/man/man7)
  install(FILES scripts/completions/rdmacheck.bash DESTINATION share/bash-completion/completions RENAME rdmacheck)
  # Debian's zsh looks into the first, that of others into the second.
  install(FILES scripts/completions/_rdmacheck DESTINATION share/zsh/vendor-completions)
  install(FILES scripts/completions/_rdmacheck DESTINATION share/zsh/site-functions)
  install(FILES scripts/completions/rdmacheck.fish DESTINATION share/fish/vendor_completions.d)
endfunction()
