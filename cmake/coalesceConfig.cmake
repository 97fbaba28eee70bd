# find_package(coalesce): the target coalesce::coalesce, and coalesce_add_test().
include("${CMAKE_CURRENT_LIST_DIR}/coalesceTargets.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/CoalesceTest.cmake")
