"""The workspace on disk: records, files named by their hash, people, backups, cleanup."""
