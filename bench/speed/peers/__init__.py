"""The peers that figures are compared with, written as their users write them."""
