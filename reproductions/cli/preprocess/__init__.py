"""``gluon-attn preprocess``: one command per pipeline; each writes a corpus as files for any framework."""
