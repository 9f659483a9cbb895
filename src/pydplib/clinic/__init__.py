"""Clinical statistics from noisy counts, with intervals that know the noise."""
