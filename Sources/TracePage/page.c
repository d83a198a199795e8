#include "page.h"

static const unsigned char html[] = {
#embed "page.html"
};
static const unsigned char css[] = {
#embed "page.css"
};
static const unsigned char script[] = {
#embed "page.js"
};

struct tracepage_part tracepage_html(void) { return (struct tracepage_part){html, sizeof html}; }
struct tracepage_part tracepage_css(void) { return (struct tracepage_part){css, sizeof css}; }
struct tracepage_part tracepage_script(void) { return (struct tracepage_part){script, sizeof script}; }
