"""Files with settings: our own, and those of another job finder. Everything is checked before anything is returned."""
