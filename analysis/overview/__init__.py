"""What a person looks at: one template, two compared, many surveyed."""
