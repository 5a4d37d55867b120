yes 'the same line' | head -n 100000
