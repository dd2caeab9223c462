"""mini-agent: a coding agent to read, and a bench for context compression."""
