/* Sentences for people, which the experiment keeps as warnings. */
#include "runtime/core/runtime.h"

/* Whether nobody has said it yet. */
static bool take(const char *sentence)
{
	for (int i = 0; i < SN_WARNINGS_MAX; i++) {
		const char *there =
			atomic_load_explicit(&sn_state->warned[i], memory_order_relaxed);
		if (!there &&
		    atomic_compare_exchange_strong(&sn_state->warned[i], &there, sentence))
			return true;
		if (there == sentence)
			return false;
	}
	return false;
}

void sn_warn(const char *sentence)
{
	struct sn_writer writer = { .file = &sn_state->file };

	if (!take(sentence))
		return;
	/* its own writer: the caller's may be at work */
	if (sn_self) {
		writer.thread_index = sn_self->index;
		writer.tid = sn_self->tid;
	}
	sn_writer_text(&writer, sn_now_ns(), SN_TEXT_WARNING, sentence, strlen(sentence));
	sn_writer_release(&writer);
}
