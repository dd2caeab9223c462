"""The tests, by milestone: each name is the rule that it holds."""
