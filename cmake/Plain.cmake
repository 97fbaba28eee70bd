# The builds with sanitizers that run in every change take what needs no instruments from the build without them, the folder
# COALESCE_PLAIN_BUILD: the tests' own code, and parts of the machine (machine/CMakeLists.txt). There the target `plain` makes all of it.
# Of an inline function that both have, the linker takes the first copy: the product's archives come first, as a whole.
if(NOT COALESCE_PLAIN_BUILD)
  add_custom_target(plain)
endif()

# coalesce_plain(target folder [libraries...]): here the archive lib<target>.a of the other build's folder, with what it is linked with.
function(coalesce_plain target folder)
  set(archive ${COALESCE_PLAIN_BUILD}/${folder}/lib${target}.a)
  add_library(${target} STATIC IMPORTED GLOBAL)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${archive} INTERFACE_LINK_LIBRARIES "${ARGN}")
  add_dependencies(${target} plain)
  set_property(GLOBAL APPEND PROPERTY coalesce_plain_archives ${archive})
endfunction()

# coalesce_product(library): an archive of the product; its instrumented copies are those that a program gets.
function(coalesce_product library)
  if(COALESCE_PLAIN_BUILD)
    target_link_options(${library} INTERFACE LINKER:--whole-archive,$<TARGET_FILE:${library}>,--no-whole-archive)
  endif()
endfunction()

# Called once, after all others: one ninja at a time works in the other folder.
function(coalesce_plain_build)
  if(COALESCE_PLAIN_BUILD)
    get_property(archives GLOBAL PROPERTY coalesce_plain_archives)
    add_custom_target(plain BYPRODUCTS ${archives} COMMAND ${CMAKE_COMMAND} --build ${COALESCE_PLAIN_BUILD} --target plain)
  endif()
endfunction()
