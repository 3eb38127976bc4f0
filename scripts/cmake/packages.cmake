# `cpack -G DEB`, `-G RPM`, `-G TGZ` in the build folder. The debug files are a package of their own. SOURCE_DATE_EPOCH holds.
set(CPACK_PACKAGE_NAME rdmacheck)
set(CPACK_PACKAGE_VENDOR rdmacheck)
set(CPACK_PACKAGE_CONTACT "rdmacheck maintainers <rdmacheck@localhost>")
set(CPACK_PACKAGE_VERSION ${RDMACHECK_VERSION})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Finds leaked, misused and racing RDMA verbs objects in any program")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_FILE_NAME rdmacheck-${RDMACHECK_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL runtime dbg)
set(CPACK_STRIP_FILES OFF)

set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_ARCHIVE_RUNTIME_FILE_NAME ${CPACK_PACKAGE_FILE_NAME})
set(CPACK_ARCHIVE_DBG_FILE_NAME ${CPACK_PACKAGE_FILE_NAME}-dbg)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME rdmacheck)
# Not libibverbs: the program that is checked brings the one that it needs, which need not be that of a package.
find_program(RDMACHECK_SHLIBDEPS dpkg-shlibdeps)
find_program(RDMACHECK_FILE file)
mark_as_advanced(RDMACHECK_SHLIBDEPS RDMACHECK_FILE)
if(RDMACHECK_SHLIBDEPS AND RDMACHECK_FILE)
  set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
else()
  set(CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS "libc6, libgcc-s1, libstdc++6")
endif()
# For rxe-vm, which says so where one is missing.
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SUGGESTS
  "ibverbs-utils, qemu-system-x86, busybox-static, kmod, cpio, xz-utils, iproute2")
set(CPACK_DEBIAN_DBG_PACKAGE_NAME rdmacheck-dbg)
set(CPACK_DEBIAN_DBG_PACKAGE_DEPENDS "rdmacheck (= ${RDMACHECK_VERSION})")

set(CPACK_RPM_COMPONENT_INSTALL ON)
set(CPACK_RPM_MAIN_COMPONENT runtime)
set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_LICENSE MIT)
# Stripped already; rpm's own tools would do it again, and link the build-ids.
set(CPACK_RPM_SPEC_MORE_DEFINE "%define __strip /bin/true\n%define _build_id_links none\n%define debug_package %{nil}")
set(CPACK_RPM_DBG_PACKAGE_NAME rdmacheck-dbg)
include(CPack)
