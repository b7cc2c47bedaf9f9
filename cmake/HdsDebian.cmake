# Run by cpack on the installed tree before it is packed: what a Debian package has in other forms.
if(NOT CPACK_GENERATOR STREQUAL "DEB")
    return()
endif()
get_filename_component(source "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)
set(share "${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr/share")
set(doc "${share}/doc/hdsc")

file(READ "${source}/CHANGELOG.md" changes)
file(WRITE "${doc}/changelog" "${changes}")
# SOURCE_DATE_EPOCH makes this the same each time.
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE "${doc}/changelog.Debian"
     "hdsc (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium\n\n"
     "  * Version ${CPACK_PACKAGE_VERSION}; changelog.gz says what is new.\n\n"
     " -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
file(WRITE "${doc}/copyright"
     "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n"
     "Upstream-Name: hdsc\n\n"
     "Files: *\n"
     "Copyright: 2025-2026 The hdsc authors\n"
     "License: Apache-2.0\n"
     " On Debian systems the text of the licence is in\n"
     " /usr/share/common-licenses/Apache-2.0.\n\n"
     "Comment: The program and libhds contain parts of jansson, utf8proc, xxHash,\n"
     " protobuf-c and uthash, as Debian packages them; their notices are in\n"
     " /usr/share/doc/hdsc/notices.\n")
file(REMOVE "${doc}/LICENSE" "${doc}/CHANGELOG.md")
foreach(path "${doc}/changelog" "${doc}/changelog.Debian" "${share}/man/man1/hdsc.1")
    execute_process(COMMAND gzip -9nf "${path}" COMMAND_ERROR_IS_FATAL ANY)
endforeach()
file(CHMOD_RECURSE "${doc}" PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ
     DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

# One package holds programs, libraries and what is needed to link them, on purpose (docs/cmake.md), and is no part of Debian.
# cpack adds scripts that call ldconfig, whatever the triggers say.
file(WRITE "${share}/lintian/overrides/hdsc"
     "hdsc: maintscript-calls-ldconfig *\n"
     "hdsc: package-name-doesnt-match-sonames *\n"
     "hdsc: link-to-shared-library-in-wrong-package *\n"
     "hdsc: pkg-config-unavailable-for-cross-compilation *\n"
     "hdsc: initial-upload-closes-no-bugs *\n")
