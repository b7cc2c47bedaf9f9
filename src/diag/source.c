#include "diag/source.h"

#include <string.h>

void src_map_init(src_map *map, arena *a)
{
    *map = (src_map){.arena = a, .next_base = 1};
}

src_file *src_add_at(src_map *map, const char *name, str text, uint32_t base)
{
    src_file *file = ARENA_NEW(map->arena, src_file);
    *file = (src_file){.name = arena_strdup(map->arena, name), .text = text, .base = base, .order = (uint32_t)map->files.len};
    VEC_PUSH(map->arena, &map->files, file);
    VEC_PUSH(map->arena, &map->by_base, file);
    for (size_t i = map->by_base.len - 1; i > 0 && map->by_base.at[i - 1]->base > base; i--) {
        map->by_base.at[i] = map->by_base.at[i - 1];
        map->by_base.at[i - 1] = file;
    }
    return file;
}

src_file *src_add(src_map *map, const char *name, str text)
{
    // One position more than bytes: the end of the file is a position too.
    uint32_t end = map->next_base < SRC_KEPT_BASE ? SRC_KEPT_BASE : UINT32_MAX;
    if (text.len >= end - map->next_base)
        return NULL;
    src_file *file = src_add_at(map, name, text, map->next_base);
    map->next_base += (uint32_t)text.len + 1;
    return file;
}

src_file *src_file_at(const src_map *map, uint32_t position)
{
    size_t low = 0, high = map->by_base.len;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (map->by_base.at[middle]->base <= position)
            low = middle;
        else
            high = middle;
    }
    src_file *file = high ? map->by_base.at[low] : NULL;
    return file && file->base <= position && position - file->base <= file->text.len ? file : NULL;
}

bool src_is_after(const src_map *map, src_span a, src_span b)
{
    const src_file *of_a = src_file_at(map, a.begin), *of_b = src_file_at(map, b.begin);
    if (of_a && of_b)
        return of_a->order != of_b->order ? of_a->order > of_b->order : a.begin > b.begin;
    return !of_a && of_b;
}

// Offset of the line after the one that [at] is in, or text.len + 1 if that is the last. Line ends are Python's: LF,
// CR LF and CR.
static size_t next_line(str text, size_t at)
{
    for (; at < text.len; at++) {
        if (text.at[at] == '\n')
            return at + 1;
        if (text.at[at] == '\r')
            return at + 1 + (at + 1 < text.len && text.at[at + 1] == '\n');
    }
    return text.len + 1;
}

static void find_lines(const src_map *map, src_file *file)
{
    if (file->line_starts)
        return;
    uint32_t count = 0;
    for (size_t at = 0; at <= file->text.len; at = next_line(file->text, at))
        count++;
    file->line_starts = ARENA_ARRAY(map->arena, uint32_t, count);
    for (size_t at = 0; at <= file->text.len; at = next_line(file->text, at))
        file->line_starts[file->line_count++] = (uint32_t)at;
}

src_location src_location_of(const src_map *map, uint32_t position)
{
    src_file *file = src_file_at(map, position);
    if (!file)
        return (src_location){0};
    find_lines(map, file);
    uint32_t offset = position - file->base, low = 0, high = file->line_count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (file->line_starts[middle] <= offset)
            low = middle;
        else
            high = middle;
    }
    return (src_location){file, low + 1, offset - file->line_starts[low] + 1};
}

str src_line(src_map *map, src_file *file, uint32_t line)
{
    find_lines(map, file);
    if (line < 1 || line > file->line_count)
        return (str){"", 0};
    size_t begin = file->line_starts[line - 1];
    size_t end = line < file->line_count ? file->line_starts[line] : file->text.len;
    while (end > begin && (file->text.at[end - 1] == '\n' || file->text.at[end - 1] == '\r'))
        end--;
    return (str){file->text.at + begin, end - begin};
}
