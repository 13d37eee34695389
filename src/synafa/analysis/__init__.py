"""What a labelled table tells beyond the policy: strongest pairs, tests of every pair, triples, lost information."""
