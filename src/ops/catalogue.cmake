# Reads what libhdsops has of ops/*.hds from ops/library/catalogue.json. For CMakeLists.txt, and for print_catalogue.cmake.
#
# Of each file of ops/ some parts are compiled; each becomes an object, and a header that programs include as
# <hds/operators/PART.h>. A part in the catalogue has
#
#   file        below ops/: ops/library has what signatures leave open, as C needs it
#   operators   NAME: the types of its type parameters; entries are made for all of them. 'float' is f16, bf16 and f32, 'index' is
#               i32 and i64, '|' separates alternatives. Without 'operators' and 'entries': all that the file has
#   entries     others by their names
#   given       for -D: values of attributes, "f32" for those that C gives at run time; types; numbers of axes
#   prefix      of the C names, where hds_ would not say what is given
#
# Rows that are reduced are some thirty kernels for each type, 5 to 50 s of NVRTC for two architectures, so that the usual ones are
# there. A part is compiled at once: it takes up to 3 GB of memory.
set(ops_catalogue_file ${CMAKE_CURRENT_LIST_DIR}/../../ops/library/catalogue.json)
file(READ ${ops_catalogue_file} ops_catalogue)
set(ops_types_float f16 bf16 f32)
set(ops_types_index i32 i64)

# The members of an object of the catalogue, as the list [result]; none: it is empty.
function(ops_members result)
    string(JSON count ERROR_VARIABLE missing LENGTH "${ops_catalogue}" ${ARGN})
    set(names)
    if(NOT missing AND count GREATER 0)
        math(EXPR last "${count} - 1")
        foreach(i RANGE ${last})
            string(JSON name MEMBER "${ops_catalogue}" ${ARGN} ${i})
            list(APPEND names ${name})
        endforeach()
    endif()
    set(${result} ${names} PARENT_SCOPE)
endfunction()

# The files of ops/ that libhdsops has operators of.
ops_members(ops_files)

# The entries of an operator for the types, as the list [result].
function(ops_entries result name types)
    set(entries ${name})
    separate_arguments(types)
    foreach(alternatives ${types})
        string(REPLACE "|" ";" alternatives "${alternatives}")
        set(longer)
        foreach(entry ${entries})
            foreach(type ${alternatives})
                if(DEFINED ops_types_${type})
                    list(TRANSFORM ops_types_${type} PREPEND ${entry}_ OUTPUT_VARIABLE more)
                    list(APPEND longer ${more})
                else()
                    list(APPEND longer ${entry}_${type})
                endif()
            endforeach()
        endforeach()
        set(entries ${longer})
    endforeach()
    set(${result} ${entries} PARENT_SCOPE)
endfunction()

# The parts of a file, as `parts`.
function(ops_parts file)
    ops_members(found ${file})
    set(parts ${found} PARENT_SCOPE)
endfunction()

# What hdsc compiles for a part: `source`, `prefix`, `options` and `entries`, the last two as options of hdsc.
function(ops_part file part)
    string(JSON own GET "${ops_catalogue}" ${file} ${part} file)
    string(JSON own_prefix ERROR_VARIABLE missing GET "${ops_catalogue}" ${file} ${part} prefix)
    if(missing)
        set(own_prefix hds_)
    endif()
    set(defines)
    ops_members(names ${file} ${part} given)
    foreach(name ${names})
        string(JSON value GET "${ops_catalogue}" ${file} ${part} given ${name})
        list(APPEND defines "-D${name}=${value}")
    endforeach()
    set(all)
    string(JSON count ERROR_VARIABLE missing LENGTH "${ops_catalogue}" ${file} ${part} entries)
    if(NOT missing)
        math(EXPR last "${count} - 1")
        foreach(i RANGE ${last})
            string(JSON entry GET "${ops_catalogue}" ${file} ${part} entries ${i})
            list(APPEND all ${entry})
        endforeach()
    endif()
    ops_members(names ${file} ${part} operators)
    foreach(name ${names})
        string(JSON types GET "${ops_catalogue}" ${file} ${part} operators ${name})
        ops_entries(entries ${name} "${types}")
        list(APPEND all ${entries})
    endforeach()
    list(TRANSFORM all PREPEND --entry=)
    set(source ${own} PARENT_SCOPE)
    set(prefix ${own_prefix} PARENT_SCOPE)
    set(options ${defines} PARENT_SCOPE)
    set(entries ${all} PARENT_SCOPE)
endfunction()
