/* Writes what is published into the file STANDIN_OUT, a line each. STANDIN_MODE: "ok" connects at
 * once; "quota" refuses every second message with EAGAIN; "absent" reports an error instead of a
 * connection; "drop" disconnects after two messages; "slow" connects after a fifth of a second. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ldms/ldms.h"

struct ldms_xprt {
	ldms_event_cb_t on_event;
	void *context;
	enum ldms_xprt_event_type next;
};

static int is_mode(const char *mode)
{
	const char *given = getenv("STANDIN_MODE");

	return given && !strcmp(given, mode);
}

static void say(const char *what, const char *more)
{
	FILE *out = fopen(getenv("STANDIN_OUT"), "a");

	if (!out)
		return;
	fprintf(out, "%s %s\n", what, more);
	fclose(out);
}

ldms_t ldms_xprt_new_with_auth(const char *xprt_name, const char *auth_name,
			       struct attr_value_list *auth_av_list)
{
	(void)auth_av_list;
	say(xprt_name, auth_name);
	return calloc(1, sizeof(struct ldms_xprt));
}

static void *tell(void *transport)
{
	struct ldms_xprt *x = transport;
	struct ldms_xprt_event event = { .type = x->next };

	if (is_mode("slow"))
		usleep(200000);
	x->on_event(x, &event, x->context);
	return NULL;
}

/* As the real one: from a thread of its own. */
static void tell_later(ldms_t x, enum ldms_xprt_event_type type)
{
	pthread_t thread;

	x->next = type;
	if (pthread_create(&thread, NULL, tell, x) != 0)
		return;
	if (is_mode("slow"))
		pthread_detach(thread);
	else
		pthread_join(thread, NULL);
}

int ldms_xprt_connect_by_name(ldms_t x, const char *host, const char *port, ldms_event_cb_t cb,
			      void *cb_arg)
{
	x->on_event = cb;
	x->context = cb_arg;
	say(host, port);
	tell_later(x, is_mode("absent") ? LDMS_XPRT_EVENT_ERROR : LDMS_XPRT_EVENT_CONNECTED);
	return 0;
}

int ldms_msg_publish(ldms_t x, const char *name, ldms_msg_type_t msg_type, ldms_cred_t cred,
		     uint32_t perm, const char *data, size_t data_len)
{
	static int count;

	count++;
	if (is_mode("quota") && count % 2)
		return EAGAIN;
	if (msg_type != LDMS_MSG_JSON || cred || perm != 0440 || strlen(data) + 1 != data_len)
		return EINVAL;
	say(name, data);
	if (is_mode("drop") && count == 2)
		tell_later(x, LDMS_XPRT_EVENT_DISCONNECTED);
	return 0;
}

void ldms_xprt_close(ldms_t x)
{
	say("close", "");
	free(x);
}

void ldms_xprt_put(ldms_t x, const char *name)
{
	say("put", name);
	free(x);
}
