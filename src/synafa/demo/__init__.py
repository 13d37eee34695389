"""The demonstration: embedded data, a comparison with simpler policies, a report."""
