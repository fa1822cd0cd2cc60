"""The command `daicho user`."""
