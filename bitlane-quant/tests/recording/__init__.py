"""What `goldens.py` records, by package."""
