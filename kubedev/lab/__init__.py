"""What a lab is made of: predict, check, questions, slides."""
