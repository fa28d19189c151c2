/* Loops of common shapes, compiled at several options for the corpus. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>

void k_copy(double *restrict a, const double *restrict b, long n)
{
	for (long i = 0; i < n; i++)
		a[i] = b[i];
}
void k_scale(double *restrict a, const double *restrict b, double s, long n)
{
	for (long i = 0; i < n; i++)
		a[i] = s * b[i];
}
void k_triad(double *restrict a, const double *restrict b, const double *restrict c, double s,
	     long n)
{
	for (long i = 0; i < n; i++)
		a[i] = b[i] + s * c[i];
}
double k_sum(const double *a, long n)
{
	double s = 0;
	for (long i = 0; i < n; i++)
		s += a[i];
	return s;
}
double k_dot(const double *a, const double *b, long n)
{
	double s = 0;
	for (long i = 0; i < n; i++)
		s += a[i] * b[i];
	return s;
}
float k_dotf(const float *a, const float *b, long n)
{
	float s = 0;
	for (long i = 0; i < n; i++)
		s += a[i] * b[i];
	return s;
}
void k_daxpy2(double *restrict y, const double *restrict x, double a, long n)
{
	for (long i = 0; i < n; i += 2)
		y[i] += a * x[i];
}
void k_div(double *restrict a, const double *restrict b, long n)
{
	for (long i = 0; i < n; i++)
		a[i] = 1.0 / (b[i] + 2.0);
}
void k_sqrt(double *restrict a, const double *restrict b, long n)
{
	for (long i = 0; i < n; i++)
		a[i] = sqrt(b[i]);
}
void k_hypot(float *restrict a, const float *restrict b, const float *restrict c, long n)
{
	for (long i = 0; i < n; i++)
		a[i] = sqrtf(b[i] * b[i] + c[i] * c[i]);
}
double k_horner(const double *c, double x, long n)
{
	double s = 0;
	for (long i = 0; i < n; i++)
		s = s * x + c[i];
	return s;
}
void k_stencil(double *restrict a, const double *restrict b, long n)
{
	for (long i = 1; i < n; i++)
		a[i] = 0.25 * (b[i - 1] + 2 * b[i] + b[i + 1]);
}
void k_scan(double *a, long n)
{
	for (long i = 1; i < n; i++)
		a[i] += a[i - 1];
}
void k_rec2(double *a, long n)
{
	for (long i = 2; i < n; i++)
		a[i] = 0.5 * a[i - 2] + a[i];
}
struct p3 {
	double x, y, z;
};
double k_aos(const struct p3 *p, long n)
{
	double s = 0;
	for (long i = 0; i < n; i++)
		s += p[i].x * p[i].x + p[i].y * p[i].y + p[i].z * p[i].z;
	return s;
}
void k_soa(double *restrict r, const double *restrict x, const double *restrict y,
	   const double *restrict z, long n)
{
	for (long i = 0; i < n; i++)
		r[i] = x[i] * x[i] + y[i] * y[i] + z[i] * z[i];
}
double k_gather(const double *a, const int *ix, long n)
{
	double s = 0;
	for (long i = 0; i < n; i++)
		s += a[ix[i]];
	return s;
}
void k_conv(double *restrict a, const int *restrict b, long n)
{
	for (long i = 0; i < n; i++)
		a[i] = b[i] * 0.5;
}
void k_conv2(int *restrict a, const float *restrict b, long n)
{
	for (long i = 0; i < n; i++)
		a[i] = (int)(b[i] * 3.0f);
}
void k_mix(double *restrict a, const float *restrict b, long n)
{
	for (long i = 0; i < n; i++)
		a[i] = a[i] + b[i];
}
long k_isum(const int *a, long n)
{
	long s = 0;
	for (long i = 0; i < n; i++)
		s += a[i];
	return s;
}
uint32_t k_fnv(const uint8_t *p, long n)
{
	uint32_t h = 2166136261u;
	for (long i = 0; i < n; i++)
		h = (h ^ p[i]) * 16777619u;
	return h;
}
uint64_t k_mixhash(const uint64_t *p, long n)
{
	uint64_t h = 0;
	for (long i = 0; i < n; i++) {
		h ^= p[i];
		h *= 0x9e3779b97f4a7c15ull;
		h ^= h >> 32;
	}
	return h;
}
uint64_t k_xorshift(uint64_t x, long n)
{
	for (long i = 0; i < n; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	return x;
}
uint64_t k_mod(uint64_t x, uint64_t m, long n)
{
	for (long i = 0; i < n; i++)
		x = (x * 3 + 1) % m;
	return x;
}
uint32_t k_mod32(uint32_t x, uint32_t m, long n)
{
	for (long i = 0; i < n; i++)
		x = (x * 3 + 1) % m;
	return x;
}
long k_count(const uint8_t *p, uint8_t c, long n)
{
	long s = 0;
	for (long i = 0; i < n; i++)
		s += p[i] == c;
	return s;
}
int k_max(const int *a, long n)
{
	int m = a[0];
	for (long i = 1; i < n; i++)
		m = a[i] > m ? a[i] : m;
	return m;
}
double k_maxd(const double *a, long n)
{
	double m = a[0];
	for (long i = 1; i < n; i++)
		m = a[i] > m ? a[i] : m;
	return m;
}
void k_abs(float *restrict a, const float *restrict b, long n)
{
	for (long i = 0; i < n; i++)
		a[i] = fabsf(b[i]);
}
void k_rot(double *restrict x, double *restrict y, double c, double s, long n)
{
	for (long i = 0; i < n; i++) {
		double t = c * x[i] + s * y[i];
		y[i] = c * y[i] - s * x[i];
		x[i] = t;
	}
}
void k_cmul(double *restrict a, const double *restrict b, const double *restrict c, long n)
{
	for (long i = 0; i < n; i++) {
		a[2 * i] = b[2 * i] * c[2 * i] - b[2 * i + 1] * c[2 * i + 1];
		a[2 * i + 1] = b[2 * i] * c[2 * i + 1] + b[2 * i + 1] * c[2 * i];
	}
}
void k_blend(float *restrict a, const float *restrict b, long n)
{
	for (long i = 0; i < n; i++)
		a[i] = b[i] > 0 ? b[i] : 0.1f * b[i];
}
void k_hist(int *restrict h, const uint8_t *restrict p, long n)
{
	for (long i = 0; i < n; i++)
		h[p[i]]++;
}
void k_rgb(uint8_t *restrict g, const uint8_t *restrict p, long n)
{
	for (long i = 0; i < n; i++)
		g[i] = (uint8_t)((p[3 * i] * 77 + p[3 * i + 1] * 150 + p[3 * i + 2] * 29) >> 8);
}
void k_shift(uint32_t *restrict a, const uint32_t *restrict b, int s, long n)
{
	for (long i = 0; i < n; i++)
		a[i] = b[i] >> s | b[i] << (32 - s);
}
uint64_t k_pop(const uint64_t *a, long n)
{
	uint64_t s = 0;
	for (long i = 0; i < n; i++)
		s += (uint64_t)__builtin_popcountll(a[i]);
	return s;
}
void k_add64(uint64_t *restrict r, const uint64_t *restrict a, const uint64_t *restrict b, long n)
{
	unsigned char c = 0;
	for (long i = 0; i < n; i++) {
		unsigned long long t;
		c = __builtin_add_overflow(a[i], (unsigned long long)b[i] + c, &t);
		r[i] = t;
	}
}
void k_mul1(uint64_t *restrict r, const uint64_t *restrict a, uint64_t b, long n)
{
	uint64_t c = 0;
	for (long i = 0; i < n; i++) {
		unsigned __int128 t = (unsigned __int128)a[i] * b + c;
		r[i] = (uint64_t)t;
		c = (uint64_t)(t >> 64);
	}
}
long double k_ld(const long double *a, long n)
{
	long double s = 0;
	for (long i = 0; i < n; i++)
		s += a[i] * a[i];
	return s;
}
void k_transpose(double *restrict a, const double *restrict b, long n, long ld)
{
	for (long i = 0; i < n; i++)
		a[i * ld] = b[i];
}
void k_gemm4(double *restrict c, const double *restrict a, const double *restrict b, long n)
{
	double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
	for (long i = 0; i < n; i++) {
		s0 += a[i] * b[4 * i];
		s1 += a[i] * b[4 * i + 1];
		s2 += a[i] * b[4 * i + 2];
		s3 += a[i] * b[4 * i + 3];
	}
	c[0] = s0;
	c[1] = s1;
	c[2] = s2;
	c[3] = s3;
}
int k_list(const int *next, int i, long n)
{
	while (n--)
		i = next[i];
	return i;
}
void k_lut(uint8_t *restrict a, const uint8_t *restrict b, const uint8_t *restrict t, long n)
{
	for (long i = 0; i < n; i++)
		a[i] = t[b[i]];
}
void k_clip(int16_t *restrict a, const int *restrict b, long n)
{
	for (long i = 0; i < n; i++)
		a[i] = (int16_t)(b[i] < -32768 ? -32768 : b[i] > 32767 ? 32767 : b[i]);
}
void k_sad(unsigned *restrict r, const uint8_t *restrict a, const uint8_t *restrict b, long n)
{
	unsigned s = 0;
	for (long i = 0; i < n; i++)
		s += (unsigned)(a[i] > b[i] ? a[i] - b[i] : b[i] - a[i]);
	*r = s;
}
