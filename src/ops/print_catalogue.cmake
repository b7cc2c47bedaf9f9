# Prints what libhdsops has, a line for each part: its name, its file below ops/, the prefix of its C names, options and entries, with
# "|" between. Usage: cmake -P print_catalogue.cmake
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/catalogue.cmake)
foreach(name ${ops_files})
    ops_parts(${name})
    foreach(part ${parts})
        ops_part(${name} ${part})
        list(JOIN options "\t" options)
        list(JOIN entries "\t" entries)
        execute_process(COMMAND ${CMAKE_COMMAND} -E echo "${part}|${source}|${prefix}|${options}|${entries}")
    endforeach()
endforeach()
