"""Alembic's entry point: runs migrations on the connection that `infonn storage upgrade` opened."""

from alembic import context

from infonn.storage.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,  # SQLite changes a table by writing a new one
)
with context.begin_transaction():
    context.run_migrations()
