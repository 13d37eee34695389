"""Units of work and how they are run: schedule, processes, Dask, the folder of results."""
