/*
 * The example of ./quickstart: a toy weather model of about five seconds, with a bit of everything
 * that a profile has to tell apart.
 *
 *   diffuse   a loop nest over a grid, in two threads: most of the CPU time
 *   radiation calls exp and sin of the C library for every cell
 *   transpose walks a matrix the wrong way round: slow for its size
 *   save      writes the state to a temporary file and waits for the disk
 *   listen    a thread that mostly waits
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SIZE = 1000, STEPS = 420, THREADS = 2 };

static double now_grid[SIZE][SIZE], next_grid[SIZE][SIZE], sky[SIZE][SIZE];
static pthread_barrier_t step_done;
static pthread_mutex_t station = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t news = PTHREAD_COND_INITIALIZER;
static int is_over;

static void diffuse(int first, int end)
{
	for (int y = first; y < end; y++)
		for (int x = 1; x < SIZE - 1; x++)
			next_grid[y][x] =
				0.25 * (now_grid[y - 1][x] + now_grid[y + 1][x] +
					now_grid[y][x - 1] + now_grid[y][x + 1]) +
				0.001 * sky[y][x] / (1.0 + now_grid[y][x] * now_grid[y][x]);
}

static void radiation(int first, int end, int step)
{
	for (int y = first; y < end; y += 4)
		for (int x = 0; x < SIZE; x++)
			sky[y][x] = exp(-now_grid[y][x] * now_grid[y][x]) * sin(0.01 * (x + step));
}

/* Down the columns of one and along the rows of the other: every read is a new cache line. */
static void transpose(int first, int end)
{
	for (int y = first; y < end; y++)
		for (int x = 0; x < SIZE; x++)
			now_grid[y][x] = 0.5 * (next_grid[y][x] + next_grid[x][y]);
}

static void save(int step)
{
	FILE *out = tmpfile();

	if (!out)
		return;
	for (int y = 0; y < SIZE; y += 10)
		fwrite(now_grid[y], sizeof(double), SIZE, out);
	fprintf(out, "%d\n", step);
	fflush(out);
	fsync(fileno(out));
	fclose(out);
	usleep(20000); /* the archive is far away */
}

static void *listen_for_news(void *unused)
{
	pthread_mutex_lock(&station);
	while (!is_over)
		pthread_cond_wait(&news, &station);
	pthread_mutex_unlock(&station);
	return unused;
}

static void *forecast(void *number)
{
	int first = 1 + (int)(long)number * (SIZE - 2) / THREADS;
	int end = 1 + ((int)(long)number + 1) * (SIZE - 2) / THREADS;

	for (int step = 0; step < STEPS; step++) {
		for (int again = 0; again < 6; again++)
			diffuse(first, end);
		radiation(first, end, step);
		pthread_barrier_wait(&step_done);
		transpose(first, end);
		if (number == 0 && step % 10 == 0)
			save(step);
		pthread_barrier_wait(&step_done);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS], listener;
	double sum = 0;

	for (int y = 0; y < SIZE; y++)
		for (int x = 0; x < SIZE; x++)
			now_grid[y][x] = ((x * 31 + y * 17) % 101) / 101.0;
	pthread_barrier_init(&step_done, NULL, THREADS);
	pthread_create(&listener, NULL, listen_for_news, NULL);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, forecast, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_mutex_lock(&station);
	is_over = 1;
	pthread_cond_signal(&news);
	pthread_mutex_unlock(&station);
	pthread_join(listener, NULL);
	for (int y = 0; y < SIZE; y++)
		for (int x = 0; x < SIZE; x++)
			sum += now_grid[y][x];
	printf("mean temperature %.6f\n", sum / SIZE / SIZE);
	return 0;
}
