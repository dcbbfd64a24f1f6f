"""Programs of participants: unpacked and tried, and the environments in which they run."""
