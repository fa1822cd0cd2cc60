"""The console over 60,000 contacts: requests, main-thread tasks, layout shifts, bytes."""
