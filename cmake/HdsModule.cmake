# hds_module(<name> SOURCES <files> [DEPENDS <modules>] [LIBRARIES <libs>]): one folder of src/ as a static library.
# hds_test_targets(<target> <folder>): a target that builds all there is in a folder of tests and below.
# hds_unit_test(<module> <file.c> ...): a cmocka program per file that links that module and nothing it does not depend on.

set(HDS_WARNINGS -Wall -Wextra -Wshadow -Wundef -Wformat=2 -Wwrite-strings -Wvla -Wmissing-prototypes)
if(HDS_WERROR)
    list(APPEND HDS_WARNINGS -Werror)
endif()

set(HDS_INSTRUMENT)
if(HDS_SANITIZE)
    set(HDS_INSTRUMENT -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
elseif(HDS_TSAN)
    set(HDS_INSTRUMENT -fsanitize=thread -fno-omit-frame-pointer)
endif()
if(HDS_FUZZ)
    list(APPEND HDS_INSTRUMENT -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined)
endif()

# What each test runs with. When a library's thread-local block happens to lie 16 bytes into a page, GCC 12's LeakSanitizer takes
# what lies before it for a header of old glibc's and reads where that points, so such blocks are not looked for.
set(HDS_TEST_ENVIRONMENT
    "ASAN_OPTIONS=detect_stack_use_after_return=0:allocator_may_return_null=1:intercept_tls_get_addr=0"
    "TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/tsan.supp"
    "HDS_CACHE=off"
    "LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/lsan.supp:print_suppressions=0")

function(hds_compile_options target)
    target_compile_definitions(${target} PRIVATE _GNU_SOURCE)
    target_compile_options(${target} PRIVATE ${HDS_WARNINGS} ${HDS_INSTRUMENT})
    target_link_options(${target} PRIVATE ${HDS_INSTRUMENT})
endfunction()

function(hds_module name)
    cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS;LIBRARIES" ${ARGN})
    add_library(hds_${name} STATIC ${arg_SOURCES})
    target_include_directories(hds_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
    # The same objects make hdsc and the libraries that others link: libhds shows what include/hds/symbols.txt names.
    set_target_properties(hds_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden)
    hds_compile_options(hds_${name})
    list(TRANSFORM arg_DEPENDS PREPEND hds_)
    target_link_libraries(hds_${name} PUBLIC ${arg_DEPENDS} ${arg_LIBRARIES})
    # -ffp-contract: constants are folded exactly as written, on every machine.
    target_compile_options(hds_${name} PRIVATE -ffp-contract=off)
endfunction()

function(hds_unit_test module)
    foreach(source ${ARGN})
        get_filename_component(stem ${source} NAME_WE)
        set(target unit_${module}_${stem})
        add_executable(${target} ${source})
        hds_compile_options(${target})
        target_link_libraries(${target} PRIVATE hds_${module} cmocka)
        add_test(NAME unit/${module}/${stem} COMMAND ${target})
        set_tests_properties(unit/${module}/${stem} PROPERTIES LABELS unit ENVIRONMENT "${HDS_TEST_ENVIRONMENT}")
    endforeach()
endfunction()

function(hds_targets_below folder result)
    get_property(found DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
    get_property(subfolders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
    foreach(subfolder IN LISTS subfolders)
        hds_targets_below(${subfolder} more)
        list(APPEND found ${more})
    endforeach()
    set(${result} ${found} PARENT_SCOPE)
endfunction()

function(hds_test_targets target folder)
    hds_targets_below(${folder} found)
    add_custom_target(${target} DEPENDS ${found})
endfunction()
