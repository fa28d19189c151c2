/* f and g of the paper's Figure 1, which does not say what they are. */
float f(float v, float a)
{
	return v * 0.75f + a;
}

float g(float down, float up)
{
	return (down + up) * 0.5f;
}
