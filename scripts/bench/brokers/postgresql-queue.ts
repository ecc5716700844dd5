/** The tables and statements of a queue in PostgreSQL. */

export const tables = `
CREATE TABLE messages (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, queue text NOT NULL, body text NOT NULL, taken_at timestamptz
);
CREATE INDEX waiting ON messages (queue, id) WHERE taken_at IS NULL;
CREATE TABLE keys (hash text PRIMARY KEY, queue text NOT NULL)`

export const publish = { name: 'publish', text: 'INSERT INTO messages (queue, body) VALUES ($1, $2)' }

export const take = {
  name: 'take',
  text: `UPDATE messages SET taken_at = now() WHERE id = (
    SELECT id FROM messages WHERE queue = $1 AND taken_at IS NULL ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED
  ) RETURNING body`,
}
