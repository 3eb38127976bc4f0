# RDMACHECK_VERSION: of the git tag vX.Y.Z, as 1.2.0 on it, 1.2.0+3.g1a2b3c4 three commits after it, with .dirty for changes
# that are not committed. Without a tag, and outside of git, the number is project()'s; a packager may give another.
function(rdmacheck_version out)
  set(version ${PROJECT_VERSION})
  find_program(RDMACHECK_GIT git)
  mark_as_advanced(RDMACHECK_GIT)
  # .git of this folder: an unpacked tarball may lie in somebody else's checkout.
  if(RDMACHECK_GIT AND EXISTS ${PROJECT_SOURCE_DIR}/.git)
    execute_process(COMMAND ${RDMACHECK_GIT} describe --tags --match "v[0-9]*" --always --dirty=.dirty --abbrev=7
      WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE said RESULT_VARIABLE failed
      OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(failed)
      # Not to be read (another user's checkout, say): as outside of git.
    elseif(said MATCHES "^v([0-9]+\\.[0-9]+\\.[0-9]+)-([0-9]+)-(g[0-9a-f]+)(\\.dirty)?$")
      set(version "${CMAKE_MATCH_1}+${CMAKE_MATCH_2}.${CMAKE_MATCH_3}${CMAKE_MATCH_4}")
    elseif(said MATCHES "^v([0-9]+\\.[0-9]+\\.[0-9]+)(\\.dirty)?$")
      string(REPLACE "." "+" dirty "${CMAKE_MATCH_2}")
      set(version "${CMAKE_MATCH_1}${dirty}")
    elseif(said MATCHES "^([0-9a-f]+)(\\.dirty)?$")
      set(version "${PROJECT_VERSION}+g${CMAKE_MATCH_1}${CMAKE_MATCH_2}")
    endif()
  endif()
  set(${out} ${version} PARENT_SCOPE)
endfunction()

if(NOT RDMACHECK_VERSION)
  rdmacheck_version(RDMACHECK_VERSION)
endif()
message(STATUS "rdmacheck ${RDMACHECK_VERSION}")
