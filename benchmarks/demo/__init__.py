"""The demo checkpoints and the scripts that trained them."""
