"""What the papers of one task share: data, training, evaluation and answers.

One folder per task. Its ``task`` module has the subclass of :class:`~reproductions.protocol.task.Task`; ``results`` has
rows, effects and figures, ``answers`` what the command line prints for new inputs. Modules next to the folders are used
by several tasks.
"""
