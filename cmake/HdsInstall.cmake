# hds_install(<program>): what `cmake --install` puts below its prefix.
include(GNUInstallDirs)

function(hds_install program)
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    install(FILES docs/man/hdsc.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
    install(FILES completions/hdsc.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME hdsc)
    install(FILES completions/hdsc.zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions RENAME _hdsc)
    install(FILES completions/hdsc.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
    # The library is built into the program; the copy is there to be read.
    install(DIRECTORY stdlib DESTINATION ${CMAKE_INSTALL_DATADIR}/hdsc FILES_MATCHING PATTERN "*.hds")
    install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
endfunction()
