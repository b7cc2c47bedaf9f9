# hds_install(): what `cmake --install` puts below its prefix, which may be moved afterwards.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# The .pc files find their prefix from where they are.
function(hds_install_pkg_config)
    file(RELATIVE_PATH HDS_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
    string(REGEX REPLACE "/$" "" HDS_PC_PREFIX ${HDS_PC_PREFIX})
    set(names hdsrt hds)
    if(HDS_OPS)
        list(APPEND names hdsops)
    endif()
    foreach(name IN LISTS names)
        configure_file(${PROJECT_SOURCE_DIR}/cmake/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
        install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
    endforeach()
endfunction()

function(hds_install_cmake_package)
    set(folder ${CMAKE_INSTALL_LIBDIR}/cmake/hds)
    configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/hds-config.cmake.in ${PROJECT_BINARY_DIR}/hds-config.cmake
        INSTALL_DESTINATION ${folder}
        PATH_VARS CMAKE_INSTALL_BINDIR CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
    # Until 1.0 a minor version may change what it likes.
    write_basic_package_version_file(${PROJECT_BINARY_DIR}/hds-config-version.cmake COMPATIBILITY SameMinorVersion)
    install(FILES ${PROJECT_BINARY_DIR}/hds-config.cmake ${PROJECT_BINARY_DIR}/hds-config-version.cmake
                  ${PROJECT_SOURCE_DIR}/cmake/HdsKernels.cmake
            DESTINATION ${folder})
endfunction()

function(hds_install)
    # libhds.so finds the runtime beside it.
    set_target_properties(hds_shared PROPERTIES INSTALL_RPATH "$ORIGIN")
    install(TARGETS hdsc hdsrt hdsrt_shared hds hds_shared
            RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
            LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
            ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
    install(TARGETS hds-worker RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/hds)
    if(HDS_OPS)
        set_target_properties(hdsops_shared PROPERTIES INSTALL_RPATH "$ORIGIN")
        install(TARGETS hdsops hdsops_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
    endif()
    # Notices that come with what is linked into hdsc and libhds.
    foreach(package libjansson-dev libutf8proc-dev libxxhash-dev libprotobuf-c-dev uthash-dev)
        if(EXISTS /usr/share/doc/${package}/copyright)
            install(FILES /usr/share/doc/${package}/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR}/notices
                    RENAME ${package})
        endif()
    endforeach()
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/hds DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
            FILES_MATCHING PATTERN "*.h")
    install(DIRECTORY ops DESTINATION ${CMAKE_INSTALL_DATADIR}/hdsc FILES_MATCHING PATTERN "*.hds")
    install(FILES docs/man/hdsc.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
    install(FILES completions/hdsc.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME hdsc)
    install(FILES completions/hdsc.zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions RENAME _hdsc)
    install(FILES completions/hdsc.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d RENAME hdsc.fish)
    # The library is built into the program; the copy is there to be read.
    install(DIRECTORY stdlib DESTINATION ${CMAKE_INSTALL_DATADIR}/hdsc FILES_MATCHING PATTERN "*.hds")
    install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
    install(DIRECTORY examples/c DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
    hds_install_pkg_config()
    hds_install_cmake_package()
endfunction()
