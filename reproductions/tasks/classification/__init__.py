"""Text classification by sentences and documents."""
