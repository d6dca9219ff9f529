"""Measurements, side by side with what they are to be compared with."""
