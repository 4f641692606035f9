"""Tests of lab.consuming."""
