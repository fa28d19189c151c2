/* Two threads that read one database of SQLite, each by a connection of its own, and meet behind each pair of queries:
 *     sqlite DATABASE ROUNDS FIRST SECOND */
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_barrier_t barrier;
static const char *database;
static int rounds;

__attribute__((noinline)) void round_is_over(void)
{
	static volatile int count;

	count = count + 1;
}

static void *queries(const char *text, int is_first)
{
	sqlite3_stmt *statement;
	sqlite3 *connection;

	if (sqlite3_open_v2(database, &connection, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(connection, text, -1, &statement, NULL) != SQLITE_OK) {
		fprintf(stderr, "%s: %s\n", database, sqlite3_errmsg(connection));
		exit(1);
	}
	for (int i = 0; i < rounds; i++) {
		while (sqlite3_step(statement) == SQLITE_ROW)
			continue;
		sqlite3_reset(statement);
		pthread_barrier_wait(&barrier);
		if (is_first)
			round_is_over();
	}
	sqlite3_finalize(statement);
	sqlite3_close(connection);
	return NULL;
}

static void *second(void *text)
{
	return queries(text, 0);
}

int main(int count, char **words)
{
	pthread_t thread;

	if (count != 5)
		return 2;
	database = words[1];
	rounds = atoi(words[2]);
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread, NULL, second, words[4]);
	queries(words[3], 1);
	return pthread_join(thread, NULL);
}
