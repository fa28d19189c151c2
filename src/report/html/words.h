/** Numbers as people read them, in the same way as the page writes them (web/src/format.js). */
#ifndef SN_REPORT_HTML_WORDS_H
#define SN_REPORT_HTML_WORDS_H

#include <stdint.h>

/* Each fills `words` and returns it. Unknown (negative, NaN) is "-". */
char *sn_words_seconds(char words[64], int64_t ns);   /* "1.23 ms", three digits */
char *sn_words_percent(char words[64], double share); /* "12.3 %" */
char *sn_words_count(char words[64], uint64_t count); /* "12,345" */

#endif
