"""What a person looks at: one template's portrait, two compared, many surveyed."""
