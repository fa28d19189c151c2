/* The folder that hosts of a search share: names are taken by mkdir and symlink, which one wins everywhere. */
#include "search/online/nodes.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "wire/link.h"

char *sn_nodes_file(const char *folder, const char *name)
{
	struct sn_text path = { 0 };

	sn_text_addf(&path, "%s/%s", folder, name);
	return sn_text_take(&path);
}

/* A name is a folder's, too. */
void sn_node_name(char out[SN_NODE_NAME])
{
	const char *given = getenv("SONDE_NODE");

	memset(out, 0, SN_NODE_NAME);
	if (given && *given)
		snprintf(out, SN_NODE_NAME, "%s", given);
	else
		gethostname(out, SN_NODE_NAME - 1);
	for (char *c = out; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("-_", *c) && (*c != '.' || c == out))
			*c = '_';
	if (!*out)
		snprintf(out, SN_NODE_NAME, "host");
}

/* ---- names and numbers ---- */

static void number_path(const char *folder, uint32_t number, struct sn_text *path)
{
	sn_text_clear(path);
	sn_text_addf(path, "%s/search.nodes/number.%u", folder, number);
}

bool sn_node_of_number(const char *folder, uint32_t number, char out[SN_NODE_NAME])
{
	struct sn_text path = { 0 };
	ssize_t length;

	number_path(folder, number, &path);
	length = readlink(path.chars, out, SN_NODE_NAME - 1);
	sn_text_free(&path);
	out[length > 0 ? length : 0] = '\0';
	return length > 0;
}

bool sn_node_number(const char *folder, const char *name, uint32_t *out)
{
	char other[SN_NODE_NAME];

	for (*out = 0; *out < SN_NODES_MOST && sn_node_of_number(folder, *out, other); (*out)++)
		if (!strcmp(other, name))
			return true;
	return false;
}

static sn_status number_take(const char *folder, const char *name, struct sn_error *err)
{
	struct sn_text path = { 0 };
	int failed = -1;

	for (uint32_t number = 0; failed && number < SN_NODES_MOST; number++) {
		number_path(folder, number, &path);
		failed = symlink(name, path.chars);
		if (failed && errno != EEXIST)
			break;
	}
	if (failed)
		sn_error_errno(err, "search: host '%s' cannot be entered in '%s'", name, folder);
	sn_text_free(&path);
	return failed ? err->status : SN_OK;
}

sn_status sn_node_enter(const char *folder, const char *name, const char *live_folder,
			bool *is_first, struct sn_error *err)
{
	struct sn_text path = { 0 };
	sn_status status = SN_OK;

	sn_text_addf(&path, "%s/search.nodes/%s", folder, name);
	*is_first = !mkdir(path.chars, 0700);
	sn_text_addf(&path, "/%d", (int)getpid());
	if (symlink(live_folder, path.chars))
		status = sn_error_errno(err, "search: cannot write '%s'", path.chars);
	sn_text_free(&path);
	return status == SN_OK && *is_first ? number_take(folder, name, err) : status;
}

void sn_node_live_folders(const char *folder, const char *name,
			  void (*see)(void *context, const char *live_folder), void *context)
{
	struct sn_text path = { 0 };
	const struct dirent *entry;
	DIR *all;

	sn_text_addf(&path, "%s/search.nodes/%s", folder, name);
	all = opendir(path.chars);
	sn_text_free(&path);
	while (all && (entry = readdir(all))) {
		char live[PATH_MAX];
		ssize_t length = readlinkat(dirfd(all), entry->d_name, live, sizeof(live) - 1);

		if (length <= 0)
			continue;
		live[length] = '\0';
		see(context, live);
	}
	if (all)
		closedir(all);
}

/* ---- the end ---- */

static void secret_remove(int folder)
{
	static const char *const files[] = { "search.secret", "search.front" };

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		unlinkat(folder, files[i], 0);
}

void sn_nodes_remove(const char *folder)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return;
	secret_remove(fd);
	sn_file_remove_folder(fd, "search.nodes");
	close(fd);
}

/* A session of its own: what ends the command's group does not end it. */
__attribute__((noreturn)) static void sweeper_run(int folder, int pipe)
{
	enum { PIPE = 3, FOLDER = 4, FREE = 10 };
	int null = open("/dev/null", O_RDWR);
	char byte;

	setsid();
	prctl(PR_SET_NAME, "sonde-sweeper");
	folder = fcntl(folder, F_DUPFD, FREE);
	pipe = fcntl(pipe, F_DUPFD, FREE);
	for (int fd = 0; fd < PIPE && null >= 0; fd++)
		dup2(null, fd);
	dup2(pipe, PIPE);
	dup2(folder, FOLDER);
	closefrom(FOLDER + 1);
	while (read(PIPE, &byte, 1) < 0 && errno == EINTR)
		;
	secret_remove(FOLDER);
	_exit(0);
}

void sn_nodes_sweeper_start(const char *folder, struct sn_nodes_sweeper *out)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), ends[2];

	*out = (struct sn_nodes_sweeper){ .fd = -1 };
	if (fd >= 0 && !pipe2(ends, O_CLOEXEC)) {
		out->pid = fork();
		if (!out->pid) {
			close(ends[1]);
			sweeper_run(fd, ends[0]);
		}
		close(ends[0]);
		out->fd = ends[1];
	}
	if (fd >= 0)
		close(fd);
}

void sn_nodes_sweeper_end(struct sn_nodes_sweeper *sweeper)
{
	if (sweeper->fd >= 0)
		close(sweeper->fd);
	while (sweeper->pid > 0 && waitpid(sweeper->pid, NULL, 0) < 0 && errno == EINTR)
		;
	*sweeper = (struct sn_nodes_sweeper){ .fd = -1 };
}

/* ---- addresses ---- */

enum { LOOPBACK_OF = 96 };

/* Which start of which host this is, and which network of it: addresses of the loopback count there alone. */
static void loopback_name(char out[LOOPBACK_OF])
{
	FILE *in = fopen("/proc/sys/kernel/random/boot_id", "re");
	char boot[48] = "";
	struct stat network = { 0 };

	if (!in || !fgets(boot, sizeof(boot), in))
		snprintf(boot, sizeof(boot), "unknown");
	boot[strcspn(boot, "\n")] = '\0';
	if (in)
		fclose(in);
	stat("/proc/self/ns/net", &network);
	snprintf(out, LOOPBACK_OF, "%s.%llu", boot, (unsigned long long)network.st_ino);
}

static void others_write(FILE *out, const char *port)
{
	struct ifaddrs *all = NULL;

	if (getifaddrs(&all))
		return;
	for (const struct ifaddrs *a = all; a; a = a->ifa_next) {
		struct sockaddr_in address;
		char text[INET_ADDRSTRLEN];

		if (!a->ifa_addr || a->ifa_addr->sa_family != AF_INET ||
		    (a->ifa_flags & IFF_LOOPBACK) || !(a->ifa_flags & IFF_UP))
			continue;
		memcpy(&address, a->ifa_addr, sizeof(address));
		if (inet_ntop(AF_INET, &address.sin_addr, text, sizeof(text)))
			fprintf(out, "tcp://%s:%s\n", text, port);
	}
	freeifaddrs(all);
}

static char *address_file(const char *folder, uint32_t agent)
{
	struct sn_text path = { 0 };

	if (agent == SN_LINK_FRONT)
		return sn_nodes_file(folder, "search.front");
	sn_text_addf(&path, "%s/search.nodes/inner.%u", folder, agent - SN_LINK_INNER);
	return sn_text_take(&path);
}

sn_status sn_agent_address_write(const char *folder, uint32_t agent, const char *address,
				 bool is_local, struct sn_error *err)
{
	const char *colon = strrchr(address, ':');
	char *path = address_file(folder, agent);
	struct sn_file_writer writer;
	sn_status status = sn_file_writer_open(&writer, path, err);
	char name[LOOPBACK_OF];

	free(path);
	if (status != SN_OK)
		return status;
	loopback_name(name);
	fprintf(writer.out, "tcp://127.0.0.1:%s %s\n", colon ? colon + 1 : "0", name);
	if (!is_local)
		others_write(writer.out, colon ? colon + 1 : "0");
	return sn_file_writer_commit(&writer, err);
}

bool sn_agent_address_read(const char *folder, uint32_t agent, uint32_t turn,
			   char out[SN_LINK_ADDRESS])
{
	char *path = address_file(folder, agent);
	FILE *in = fopen(path, "re");
	char line[192], name[LOOPBACK_OF], of[LOOPBACK_OF];
	char usable[16][SN_LINK_ADDRESS];
	uint32_t count = 0;

	free(path);
	loopback_name(name);
	while (in && count < 16 && fgets(line, sizeof(line), in)) {
		int words = sscanf(line, "%63s %95s", usable[count], of);

		if (words == 1 || (words == 2 && !strcmp(of, name)))
			count++;
	}
	if (in)
		fclose(in);
	if (count)
		memcpy(out, usable[turn % count], SN_LINK_ADDRESS);
	return count > 0;
}
