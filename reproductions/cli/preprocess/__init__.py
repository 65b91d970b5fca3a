"""``gluon-attn preprocess``: one command per pipeline, which writes a corpus as files for any framework."""
