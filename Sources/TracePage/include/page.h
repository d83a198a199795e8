#pragma once

/// The page on which a trace is looked at, in its parts: `html` says where the others and the story go.
struct tracepage_part {
    const unsigned char *bytes;
    unsigned long length;
};

struct tracepage_part tracepage_html(void);
struct tracepage_part tracepage_css(void);
struct tracepage_part tracepage_script(void);
