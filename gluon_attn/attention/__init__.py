"""The mechanisms, one file each. All are called as GluonNLP's ``AttentionCell``:

``(query, key, value=None, mask=None) -> (context, weights)``, batch first, mask of 0/1 with shape
(batch, query_length, memory_length). Weights are returned, never kept on the block.
"""
