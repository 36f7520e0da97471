"""Other packages' interfaces, there and back: each file needs its package, and nothing else here needs any of them."""
