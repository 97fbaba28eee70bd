# The files of `cmake --install` and their places; tests/install runs it as a new user would. `coalesce` finds its parts
# by their place beside itself (../lib/coalesce, ../share/coalesce), so the tree may be moved.
#
# libcudart has a folder of its own: in /usr/local/lib the dynamic linker would give it to every CUDA program of the
# computer, in place of NVIDIA's. (cudart/CMakeLists.txt installs it there.)
set(COALESCE_RUNTIME_DIR lib/coalesce)
set(COALESCE_SHARE_DIR share/coalesce)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME coalesce)

# `coalesce-runtime`: libcudart, the compiler for native code that it loads, the driver's library, and what sends static
# runtimes there. `coalesce` and `coalesce-lab` (all that `coalesce run` and `coalesce lab` need): the command and whatever it
# has programs load, so that none of them is older than the command.
add_custom_target(coalesce-runtime)
add_custom_target(coalesce-lab DEPENDS coalesce-runtime)
foreach(target cudart11 cudart12 cudart13 cuda_driver coalesce-codegen coalesce_redirect)
  if(TARGET ${target})
    add_dependencies(coalesce-runtime ${target})
  endif()
endforeach()
foreach(target coalesce-nvrtc coalesce_gpu)
  if(TARGET ${target})
    add_dependencies(coalesce-lab ${target})
    if(TARGET coalesce)
      add_dependencies(coalesce ${target})
    endif()
  endif()
endforeach()
if(TARGET coalesce)
  add_dependencies(coalesce coalesce-runtime)
  add_dependencies(coalesce-lab coalesce)
  install(TARGETS coalesce RUNTIME DESTINATION bin)
  # The command writes its own completions and manual page, so they cannot fall behind its options.
  foreach(completion bash/bash-completion/completions/coalesce zsh/zsh/site-functions/_coalesce
          zsh/zsh/vendor-completions/_coalesce # where Debian's zsh looks below /usr
          fish/fish/vendor_completions.d/coalesce.fish)
    string(REGEX MATCH "^([a-z]+)/(.*)$" matched ${completion})
    install(CODE "
      set(prefix \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
      set(script \"\${prefix}/share/${CMAKE_MATCH_2}\")
      cmake_path(GET script PARENT_PATH folder)
      file(MAKE_DIRECTORY \"\${folder}\")
      execute_process(COMMAND \"\${prefix}/bin/coalesce\" completion ${CMAKE_MATCH_1}
        OUTPUT_FILE \"\${script}\" COMMAND_ERROR_IS_FATAL ANY)")
  endforeach()
  install(CODE "
    set(prefix \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
    file(MAKE_DIRECTORY \"\${prefix}/share/man/man1\")
    execute_process(COMMAND \"\${prefix}/bin/coalesce\" man COMMAND gzip -9n
      OUTPUT_FILE \"\${prefix}/share/man/man1/coalesce.1.gz\" COMMAND_ERROR_IS_FATAL ANY)")
endif()

# Headers that clang needs where there is no CUDA toolkit; the experiments; the examples. (The library: cmake/Package.cmake.)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/cudart/include DESTINATION ${COALESCE_SHARE_DIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples DESTINATION ${COALESCE_SHARE_DIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/lab DESTINATION ${COALESCE_SHARE_DIR} PATTERN CMakeLists.txt EXCLUDE)
# Debian's Python looks there if the prefix is /usr; elsewhere PYTHONPATH has to name it.
install(FILES ${PROJECT_SOURCE_DIR}/python/coalesce.py DESTINATION lib/python3/dist-packages)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md DESTINATION share/doc/coalesce)
