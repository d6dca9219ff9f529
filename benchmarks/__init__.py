"""Measurements, side by side with their peers."""
