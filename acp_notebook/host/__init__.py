"""The client side of ACP: one background thread drives agents and folds their updates."""
