/* A stand-in for the part of the API of LDMS 4.5 that our publisher uses: same names, same order of
 * arguments. standin.c tells what it does. */
#ifndef STANDIN_LDMS_H
#define STANDIN_LDMS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct ldms_xprt *ldms_t;
struct attr_value_list;

enum ldms_xprt_event_type {
	LDMS_XPRT_EVENT_CONNECTED,
	LDMS_XPRT_EVENT_REJECTED,
	LDMS_XPRT_EVENT_ERROR,
	LDMS_XPRT_EVENT_DISCONNECTED,
	LDMS_XPRT_EVENT_RECV,
};

typedef struct ldms_xprt_event {
	enum ldms_xprt_event_type type;
	char *data;
	size_t data_len;
} * ldms_xprt_event_t;

typedef void (*ldms_event_cb_t)(ldms_t x, ldms_xprt_event_t e, void *cb_arg);

typedef struct ldms_cred {
	uid_t uid;
	gid_t gid;
} * ldms_cred_t;

typedef enum ldms_msg_type_e {
	LDMS_MSG_STRING,
	LDMS_MSG_JSON,
	LDMS_MSG_AVRO_SER,
} ldms_msg_type_t;

ldms_t ldms_xprt_new_with_auth(const char *xprt_name, const char *auth_name,
			       struct attr_value_list *auth_av_list);
int ldms_xprt_connect_by_name(ldms_t x, const char *host, const char *port, ldms_event_cb_t cb,
			      void *cb_arg);
int ldms_msg_publish(ldms_t x, const char *name, ldms_msg_type_t msg_type, ldms_cred_t cred,
		     uint32_t perm, const char *data, size_t data_len);
void ldms_xprt_close(ldms_t x);
void ldms_xprt_put(ldms_t x, const char *name);

#endif
