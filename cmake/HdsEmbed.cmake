# hds_embed(<output.c> <symbol> <header> <files>...): a C table of texts, made when a file changes. The header declares
# the symbol and its type embedded_text {name, text}.
#
#     const embedded_text symbol[] = {{"base.cuh", "…"}, …, {0}};
#
# The script half (cmake -P) writes the bytes as string literals, so the build needs no other tool.
if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
    set(rows "")
    string(REPLACE "|" ";" files "${FILES}")
    foreach(path ${files})
        get_filename_component(name "${path}" NAME)
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
    list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ OUTPUT_VARIABLE files)
    string(REPLACE ";" "|" joined "${files}")
    add_custom_command(
        OUTPUT ${output}
        COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} -DSYMBOL=${symbol} -DHEADER=${header} "-DFILES=${joined}" -P
                ${HDS_EMBED_SCRIPT}
        DEPENDS ${files} ${HDS_EMBED_SCRIPT}
        VERBATIM)
endfunction()
