"""What the questions of bench/questions share."""
