// Names, inlining and aliases for tests/end/structure.py.
#include <cstddef>

namespace shapes {

template <class F> inline __attribute__((always_inline)) void each(std::size_t count, F f)
{
	for (std::size_t i = 0; i < count; i++)
		f(i);
}

template <class T> struct Box {
	T *items;
	std::size_t count;
	__attribute__((noinline)) void fill(T value)
	{
		each(count, [this, value](std::size_t i) { items[i] = value * items[i]; });
	}
};

} // namespace shapes

extern "C" __attribute__((noinline, used)) int visible(int x)
{
	return x * 3;
}
extern "C" int __hidden_name(int) __attribute__((alias("visible")));
extern "C" int weak_name(int) __attribute__((weak, alias("visible")));

int main(int argc, char **argv)
{
	double items[8] = { 1, 2 };
	shapes::Box<double> box = { items, (std::size_t)argc };

	(void)argv;
	box.fill(2.5);
	return visible(argc) + (int)items[0];
}
