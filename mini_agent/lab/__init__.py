"""Milestone 6, the lab: recorded sessions, replayed under any policy, measured and shown."""
