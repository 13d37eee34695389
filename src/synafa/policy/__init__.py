"""The decision rule, the SynAFA estimator around it, and what a policy did."""
