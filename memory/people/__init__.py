"""What is kept of a person: who they are, what is told of them, and how it is exported, erased and parted."""
