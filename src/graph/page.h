// The texts of page.css and page.js, which stand in the page that fg_print_page writes.
#pragma once

#include "base/embedded.h"

extern const embedded_text fg_page_files[];
