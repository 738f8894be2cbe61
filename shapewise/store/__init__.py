"""The workspace on disk: records, files under their hash, people, backups, cleanup."""
