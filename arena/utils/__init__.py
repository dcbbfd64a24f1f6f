"""Small helpers without domain knowledge: parallel work, child processes, text, atomic writes."""
