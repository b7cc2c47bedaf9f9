# hds_embed(<output.c> <symbol> <header> [FOLDER] <files>...): a C table of texts, made when a file changes. The header declares
# the symbol and its type embedded_text {name, text}. With FOLDER names have the file's folder in front: "language/math.hds".
#
#     const embedded_text symbol[] = {{"base.cuh", "…"}, …, {0}};
#
# The script half (cmake -P) writes the bytes as string literals, so the build needs no other tool.
if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
    set(rows "")
    string(REPLACE "|" ";" files "${FILES}")
    foreach(path ${files})
        get_filename_component(name "${path}" NAME)
        if(FOLDER)
            get_filename_component(folder "${path}" DIRECTORY)
            get_filename_component(folder "${folder}" NAME)
            string(PREPEND name "${folder}/")
        endif()
        file(READ "${path}" text)
        # A bracket or semicolon in a list element would end it, so nothing here treats the text as a list.
        string(REPLACE "\\" "\\\\" text "${text}")
        string(REPLACE "\"" "\\\"" text "${text}")
        string(REPLACE "\n" "\\n\"\n     \"" text "${text}")
        string(APPEND rows "    {\"${name}\",\n     \"${text}\"},\n")
    endforeach()
    file(WRITE "${OUTPUT}" "#include \"${HEADER}\"\n\nconst embedded_text ${SYMBOL}[] = {\n${rows}    {0},\n};\n")
    return()
endif()

set(HDS_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_FILE})
function(hds_embed output symbol header)
    cmake_parse_arguments(PARSE_ARGV 3 arg "FOLDER" "" "")
    list(TRANSFORM arg_UNPARSED_ARGUMENTS PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ OUTPUT_VARIABLE files)
    string(REPLACE ";" "|" joined "${files}")
    add_custom_command(
        OUTPUT ${output}
        COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} -DSYMBOL=${symbol} -DHEADER=${header} -DFOLDER=${arg_FOLDER}
                "-DFILES=${joined}" -P
                ${HDS_EMBED_SCRIPT}
        DEPENDS ${files} ${HDS_EMBED_SCRIPT}
        VERBATIM)
endfunction()
