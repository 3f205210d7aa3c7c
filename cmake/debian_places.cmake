# Run by CPack between installing and packing: Debian's zsh looks for completions of packages in a
# folder of its own, and man pages are compressed.
file(GLOB zsh_folders ${CPACK_TEMPORARY_DIRECTORY}/*/usr/share/zsh)
foreach(folder ${zsh_folders})
  file(RENAME ${folder}/site-functions ${folder}/vendor-completions)
endforeach()
file(GLOB man_pages ${CPACK_TEMPORARY_DIRECTORY}/*/usr/share/man/man*/*.[17])
foreach(page ${man_pages})
  execute_process(COMMAND gzip -9n ${page} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
