/** `sonde cqa --blocks`: figures of blocks that are given as text. */
#ifndef SN_CQA_WORDS_BLOCKS_H
#define SN_CQA_WORDS_BLOCKS_H

#include <stdio.h>

#include "machine/machine.h"

/** Reads the lines of `text` as docs/manual/cqa.md says of `cqa --blocks` and prints one object each. */
sn_status sn_cqa_blocks_print(const struct sn_machine *machine, const uint8_t *text, size_t length,
			      bool is_unrolled, FILE *out);

#endif
