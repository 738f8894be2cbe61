"""The workspace on disk: records, files named by their hash, people, backups, cleanup."""

from shapewise import lacks

if words := lacks():  # here, since all of the application stands on the store, and the command must be able to say it
    raise ImportError(words)
