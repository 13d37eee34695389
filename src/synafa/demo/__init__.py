"""The demonstration: a clinic's table with prices, from the first question to the proof."""
