"""The plan tree: complete plans of measurements, judged on rows they were not learnt from, in a tree if that pays."""
