// Results as JUnit XML.
#include <stdio.h>
#include <string.h>

#include "testing/testing.h"

// Text between tags and in attributes. XML has no way to write most control characters.
static void escape(str_buf *out, str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        switch (c) {
        case '&': str_adds(out, "&amp;"); break;
        case '<': str_adds(out, "&lt;"); break;
        case '>': str_adds(out, "&gt;"); break;
        case '"': str_adds(out, "&quot;"); break;
        case '\n': str_addc(out, c); break;
        default: str_addc(out, (unsigned char)c < 0x20 && c != '\t' ? '?' : c); break;
        }
    }
}

static void attribute(str_buf *out, const char *name, const char *value)
{
    str_addf(out, " %s=\"", name);
    escape(out, str_of(value));
    str_addc(out, '"');
}

static void seconds(str_buf *out, double value)
{
    long ms = (long)(value * 1000 + 0.5);
    str_addf(out, " time=\"%ld.%03ld\"", ms / 1000, ms % 1000);
}

static void element(str_buf *out, const char *name, str text)
{
    str_addf(out, "      <%s>", name);
    escape(out, text);
    str_addf(out, "</%s>\n", name);
}

static void write_case(str_buf *out, const test_case *c)
{
    str_adds(out, "    <testcase");
    attribute(out, "classname", c->file->path);
    attribute(out, "name", test_title(c));
    attribute(out, "file", c->file->path);
    if (c->line)
        str_addf(out, " line=\"%u\"", c->line);
    seconds(out, c->seconds);
    str_adds(out, ">\n");
    if (c->outcome == TEST_FAILED) {
        str_adds(out, "      <failure");
        attribute(out, "message", c->reason);
        str_addc(out, '>');
        escape(out, c->messages);
        str_adds(out, "</failure>\n");
    }
    if (c->outcome == TEST_SKIPPED) {
        str_adds(out, "      <skipped");
        attribute(out, "message", c->reason);
        str_adds(out, "/>\n");
    }
    if (c->printed.len)
        element(out, "system-out", c->printed);
    str_adds(out, "    </testcase>\n");
}

typedef struct counts {
    int tests, failures, skipped;
    double seconds;
} counts;

static counts count(const test_suite *s, const test_file *file)
{
    counts n = {0};
    for (size_t i = 0; i < s->cases.len; i++) {
        const test_case *c = s->cases.at[i];
        if ((file && c->file != file) || c->outcome == TEST_NOT_RUN)
            continue;
        n.tests++;
        n.failures += c->outcome == TEST_FAILED;
        n.skipped += c->outcome == TEST_SKIPPED;
        n.seconds += c->seconds;
    }
    return n;
}

static void write_counts(str_buf *out, counts n)
{
    str_addf(out, " tests=\"%d\" failures=\"%d\" errors=\"0\" skipped=\"%d\"", n.tests, n.failures, n.skipped);
    seconds(out, n.seconds);
    str_adds(out, ">\n");
}

void test_junit(const test_suite *s, str_buf *out)
{
    str_adds(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"hdsc test\"");
    write_counts(out, count(s, NULL));
    for (size_t f = 0; f < s->files.len; f++) {
        const test_file *file = s->files.at[f];
        counts n = count(s, file);
        if (!n.tests)
            continue;
        str_adds(out, "  <testsuite");
        attribute(out, "name", file->path);
        write_counts(out, n);
        for (size_t i = 0; i < s->cases.len; i++)
            if (s->cases.at[i]->file == file && s->cases.at[i]->outcome != TEST_NOT_RUN)
                write_case(out, s->cases.at[i]);
        str_adds(out, "  </testsuite>\n");
    }
    str_adds(out, "</testsuites>\n");
}
