# One library a folder. Warnings and sanitizers are the same for all and are never exported.
add_library(trainyard_build_flags INTERFACE)
target_compile_options(trainyard_build_flags INTERFACE -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wno-restrict)  # -Wrestrict: false alarms of g++ 12 on std::string
if(TRAINYARD_WARNINGS_AS_ERRORS)
  target_compile_options(trainyard_build_flags INTERFACE -Werror)
endif()
if(TRAINYARD_SANITIZE)
  # -Wmaybe-uninitialized: false alarms of g++ 12 on std::function and std::regex under the sanitizers
  target_compile_options(trainyard_build_flags INTERFACE -Wno-maybe-uninitialized -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(trainyard_build_flags INTERFACE -fsanitize=address,undefined)
endif()

# Code that reads or prints once, and tests: a quarter less time to build, none more to run.
function(trainyard_build_quickly target)
  # at -O1 g++ 12 also sees impossible lengths in std::string
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1> $<$<CONFIG:Release>:-Wno-stringop-overflow> $<$<CONFIG:Release>:-Wno-array-bounds>)
endfunction()

# What nearly every file includes is parsed once a target; not with a compiler cache, which does better without.
# trainyard_parse_once(TARGET [<more>..])
function(trainyard_parse_once target)
  if(NOT CCACHE)
    target_precompile_headers(${target} PRIVATE <algorithm> <cmath> <functional> <map> <optional> <string> <variant> <vector> <fmt/format.h> ${ARGN})
  endif()
endfunction()

# trainyard_part(NAME SOURCES a.cpp .. PUBLIC part .. [PRIVATE library ..] [OBJECT] [QUICK])
function(trainyard_part name)
  cmake_parse_arguments(PART "OBJECT;QUICK" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  if(PART_OBJECT)
    add_library(trainyard_${name} OBJECT ${PART_SOURCES})
  else()
    add_library(trainyard_${name} STATIC ${PART_SOURCES})
  endif()
  add_library(trainyard::${name} ALIAS trainyard_${name})
  target_include_directories(trainyard_${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(trainyard_${name} PUBLIC ${PART_PUBLIC} PRIVATE ${PART_PRIVATE} trainyard_build_flags)
  trainyard_parse_once(trainyard_${name})
  if(PART_QUICK)
    trainyard_build_quickly(trainyard_${name})
  endif()
endfunction()

# trainyard_embed(TARGET VARIABLE_PREFIX file ..): the files' text as functions `std::string_view PREFIX_<stem>()`, so that the
# program needs no data folder at run time.
function(trainyard_embed target prefix)
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/${prefix}_embedded.cpp)
  set(inputs "")
  foreach(file ${ARGN})
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    list(APPEND inputs ${file})
  endforeach()
  add_custom_command(
    OUTPUT ${generated}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${generated} -DPREFIX=${prefix} "-DFILES=${inputs}" -P ${PROJECT_SOURCE_DIR}/sim/embed.cmake
    DEPENDS ${inputs} ${PROJECT_SOURCE_DIR}/sim/embed.cmake
    VERBATIM)
  target_sources(${target} PRIVATE ${generated})
endfunction()
