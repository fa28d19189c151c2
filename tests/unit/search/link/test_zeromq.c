/* The link: those with the search's secret talk, others do not and are counted, a cut link says nothing. */
#include <stdlib.h>
#include <string.h>

#include "base/progress.h"
#include "search/link/link.h"
#include "harness/tap.h"

static bool cut;

static bool is_cut(void *context)
{
	(void)context;
	return cut;
}

struct pair {
	struct sn_link *above, *below;
	char address[SN_LINK_ADDRESS];
};

static void open_pair(struct pair *p, const char *secret_above, const char *secret_below)
{
	uint8_t secret[SN_LINK_SECRET] = { 0 };
	struct sn_error err;

	if (sn_link_check(&err) != SN_OK)
		SKIP("no ZeroMQ");
	cut = false;
	strcpy(p->address, "tcp://127.0.0.1:*");
	memcpy(secret, secret_above, strlen(secret_above));
	REQUIRE(sn_link_open(secret, NULL, NULL, &p->above, &err) == SN_OK);
	REQUIRE(sn_link_listen(p->above, p->address, &err) == SN_OK);
	memset(secret, 0, sizeof(secret));
	memcpy(secret, secret_below, strlen(secret_below));
	REQUIRE(sn_link_open(secret, is_cut, NULL, &p->below, &err) == SN_OK);
	REQUIRE(sn_link_connect(p->below, p->address, 4, 1, &err) == SN_OK);
}

static void close_pair(struct pair *p)
{
	sn_link_close(p->below);
	sn_link_close(p->above);
}

static void up(struct pair *p, const char *words)
{
	struct sn_text text = { 0 };

	sn_text_add(&text, words);
	sn_link_send_up(p->below, &text);
	sn_text_free(&text);
}

/* Both sides work; waits until `at` has a message. */
static bool arrives(struct sn_link *at, struct sn_link *other, struct sn_link_message *out,
		    double most_s)
{
	double end_s = sn_now_s() + most_s;
	struct sn_link_message ignored;

	while (sn_now_s() < end_s) {
		if (sn_link_receive(at, 20, out))
			return true;
		sn_link_receive(other, 0, &ignored);
	}
	return false;
}

TEST(who_has_the_secret_is_heard_and_answered)
{
	struct sn_link_message message;
	struct sn_text text = { 0 };
	struct pair p;

	open_pair(&p, "one", "one");
	up(&p, "hello");
	REQUIRE(arrives(p.above, p.below, &message, 60));
	CHECK(!message.is_from_above && message.length == 5 && !memcmp(message.bytes, "hello", 5));
	sn_text_add(&text, "welcome");
	sn_link_send_down(p.above, &message.peer, &text);
	REQUIRE(arrives(p.below, p.above, &message, 60));
	CHECK(message.is_from_above && message.length == 7 && !memcmp(message.bytes, "welcome", 7));
	CHECK_INT((int64_t)sn_link_refused(p.above), 0);
	sn_text_free(&text);
	close_pair(&p);
}

TEST(who_has_another_secret_is_refused_and_counted)
{
	struct sn_link_message message;
	double end_s = sn_now_s() + 60;
	struct pair p;

	open_pair(&p, "one", "two");
	up(&p, "hello");
	while (!sn_link_refused(p.above) && sn_now_s() < end_s)
		CHECK(!sn_link_receive(p.above, 20, &message));
	CHECK(sn_link_refused(p.above) > 0);
	CHECK(!arrives(p.above, p.below, &message, 0.3));
	close_pair(&p);
}

TEST(a_cut_link_is_silent_both_ways)
{
	struct sn_link_message message;
	struct sn_text text = { 0 };
	struct pair p;

	open_pair(&p, "one", "one");
	up(&p, "first");
	REQUIRE(arrives(p.above, p.below, &message, 60));
	cut = true;
	up(&p, "second");
	sn_text_add(&text, "down");
	sn_link_send_down(p.above, &message.peer, &text);
	CHECK(!arrives(p.below, p.above, &message, 0.5));
	cut = false;
	up(&p, "third");
	REQUIRE(arrives(p.above, p.below, &message, 60));
	CHECK(message.length == 5 && !memcmp(message.bytes, "third", 5));
	sn_text_free(&text);
	close_pair(&p);
}
