-- The search index, triggers and first rows, which db/schema.ts cannot express. "npm run migration" appends them.
-- An empty line ends a statement.

CREATE TRIGGER activity_is_not_changed BEFORE UPDATE ON activity
BEGIN SELECT RAISE(ABORT, 'the activity log is append-only'); END;

CREATE TRIGGER activity_is_not_deleted BEFORE DELETE ON activity
WHEN (SELECT state FROM accounts WHERE id = OLD.account_id) <> 'removing'
BEGIN SELECT RAISE(ABORT, 'the activity log is append-only'); END;

CREATE TRIGGER activity_is_not_replaced BEFORE INSERT ON activity
WHEN EXISTS (SELECT 1 FROM activity WHERE account_id = NEW.account_id AND (id = NEW.id OR n = NEW.n))
BEGIN SELECT RAISE(ABORT, 'the activity log is append-only'); END;

CREATE TRIGGER key_is_revoked_or_moved AFTER UPDATE OF revoked_at, account_id ON credentials
WHEN NEW.agent_id IS NOT NULL
BEGIN INSERT INTO log (kind, subject, home) VALUES ('agent', NEW.agent_id, NEW.account_id); END;

CREATE TRIGGER key_is_removed AFTER DELETE ON credentials
WHEN OLD.agent_id IS NOT NULL
BEGIN INSERT INTO log (kind, subject, home) VALUES ('agent', OLD.agent_id, OLD.account_id); END;

CREATE TRIGGER grant_is_revoked AFTER UPDATE OF revoked_at ON oauth_grants
WHEN NEW.revoked_at IS NOT NULL AND NEW.agent_id IS NOT NULL
BEGIN INSERT INTO log (kind, subject, home) VALUES ('agent', NEW.agent_id, NEW.account_id); END;

CREATE TRIGGER access_token_is_revoked AFTER UPDATE OF revoked_at ON oauth_tokens
WHEN NEW.revoked_at IS NOT NULL AND NEW.kind = 'access'
BEGIN
  INSERT INTO log (kind, subject, home) SELECT 'agent', agent_id, account_id FROM oauth_grants
    WHERE account_id = NEW.account_id AND id = NEW.grant_id AND agent_id IS NOT NULL;
END;

CREATE VIRTUAL TABLE agent_search USING fts5(trigrams, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii');

CREATE TRIGGER agent_is_searchable AFTER INSERT ON agent_numbers
BEGIN
  INSERT INTO agent_search (rowid, trigrams)
    SELECT NEW.n, group_concat(DISTINCT hex(NEW.account_id) || 'x' || hex(substr(lower(texts.text), place.key + 1, 3)))
    FROM (
      SELECT alias AS text FROM agents WHERE account_id = NEW.account_id AND id = NEW.agent_id
      UNION ALL SELECT description FROM agents WHERE account_id = NEW.account_id AND id = NEW.agent_id
    ) AS texts
    JOIN json_each('[' || replace(hex(zeroblob(length(texts.text))), '00', '0,') || '0]') AS place
    WHERE place.key <= length(texts.text) - 3;
END;

CREATE TRIGGER agent_is_not_searchable AFTER DELETE ON agent_numbers
BEGIN DELETE FROM agent_search WHERE rowid = OLD.n; END;

CREATE TRIGGER agent_is_described AFTER UPDATE OF alias, description ON agents
WHEN NEW.alias <> OLD.alias OR NEW.description <> OLD.description
BEGIN
  DELETE FROM agent_search
    WHERE rowid = (SELECT n FROM agent_numbers WHERE account_id = NEW.account_id AND agent_id = NEW.id);
  INSERT INTO agent_search (rowid, trigrams)
    SELECT (SELECT n FROM agent_numbers WHERE account_id = NEW.account_id AND agent_id = NEW.id),
    group_concat(DISTINCT hex(NEW.account_id) || 'x' || hex(substr(lower(texts.text), place.key + 1, 3)))
    FROM (SELECT NEW.alias AS text UNION ALL SELECT NEW.description) AS texts
    JOIN json_each('[' || replace(hex(zeroblob(length(texts.text))), '00', '0,') || '0]') AS place
    WHERE place.key <= length(texts.text) - 3;
END;

CREATE TRIGGER delivery_is_added AFTER INSERT ON deliveries
WHEN NEW.state = 'unread'
BEGIN UPDATE agent_numbers SET unread = unread + 1 WHERE n = NEW.inbox; END;

-- Which waiting senders a delivery answers. See docs/conversations.md, "Asking". In this order: few agents wait.
CREATE VIEW awaited_answers AS
SELECT leases.account_id, leases.agent_id, leases.id AS lease_id, deliveries.seq, deliveries.state,
  answer.reply_to_message_id IS asked.id AS is_reply
FROM leases
CROSS JOIN messages AS asked ON asked.account_id = leases.account_id AND asked.id = leases.id
CROSS JOIN agent_numbers ON agent_numbers.account_id = leases.account_id AND agent_numbers.agent_id = leases.agent_id
CROSS JOIN deliveries ON deliveries.inbox = agent_numbers.n AND deliveries.seq > asked.seq
CROSS JOIN messages AS answer ON answer.seq = deliveries.seq
WHERE leases.awaits_answer = 1 AND leases.seqs IS NULL AND (
  answer.reply_to_message_id = asked.id
  OR (answer.reply_to_message_id IS NULL AND answer.type <> 'system' AND answer.channel_id IS NULL
    AND asked.channel_id IS NULL AND deliveries.task_id IS NULL
    AND (asked.conversation_id IS NULL OR answer.conversation_id = asked.conversation_id)
    AND EXISTS (SELECT 1 FROM deliveries AS asking
      WHERE asking.seq = asked.seq AND asking.inbox = (SELECT agent_numbers.n FROM agent_numbers
        WHERE agent_numbers.account_id = answer.account_id AND agent_numbers.agent_id = answer.from_agent_id))));

-- What an operator reads: deliveries with the ids that the grid shows.
CREATE VIEW v_deliveries AS
SELECT agent_numbers.agent_id, messages.account_id AS sender_account_id, messages.id AS message_id, deliveries.*
FROM deliveries
JOIN agent_numbers ON agent_numbers.n = deliveries.inbox
JOIN messages ON messages.seq = deliveries.seq;

CREATE TRIGGER delivery_is_changed AFTER UPDATE OF state, inbox ON deliveries
WHEN (OLD.state = 'unread') <> (NEW.state = 'unread') OR OLD.inbox <> NEW.inbox
BEGIN
  UPDATE agent_numbers SET unread = unread - 1 WHERE n = OLD.inbox AND OLD.state = 'unread';
  UPDATE agent_numbers SET unread = unread + 1 WHERE n = NEW.inbox AND NEW.state = 'unread';
END;

CREATE TRIGGER delivery_is_removed AFTER DELETE ON deliveries
WHEN OLD.state = 'unread'
BEGIN UPDATE agent_numbers SET unread = unread - 1 WHERE n = OLD.inbox; END;

CREATE TRIGGER session_is_ended AFTER UPDATE OF ended_at ON sessions
WHEN NEW.ended_at IS NOT NULL
BEGIN INSERT INTO log (kind, subject) VALUES ('person', NEW.user_id); END;

CREATE TRIGGER session_is_removed AFTER DELETE ON sessions
WHEN OLD.ended_at IS NULL
BEGIN INSERT INTO log (kind, subject) VALUES ('person', OLD.user_id); END;

CREATE TRIGGER role_is_changed AFTER UPDATE OF role ON memberships
BEGIN INSERT INTO log (kind, subject) VALUES ('person', NEW.user_id); END;

CREATE TRIGGER membership_is_removed AFTER DELETE ON memberships
BEGIN INSERT INTO log (kind, subject) VALUES ('person', OLD.user_id); END;

-- Parsed, an object or a list takes some 40 bytes more than its text.
CREATE TRIGGER message_of_task_is_counted AFTER INSERT ON task_messages
BEGIN
  UPDATE tasks SET bytes = bytes
      + coalesce((SELECT octet_length(body) + coalesce(octet_length(a2a), 0) FROM messages
        WHERE account_id = NEW.sender_account_id AND id = NEW.message_id), 0)
      + coalesce((SELECT sum(octet_length(content) + iif(media_type LIKE '%json%',
          40 * (2 * length(content) - length(replace(content, '{', '')) - length(replace(content, '[', ''))), 0)) FROM parts
        WHERE account_id = NEW.sender_account_id AND message_id = NEW.message_id), 0)
    WHERE account_id = NEW.account_id AND id = NEW.task_id;
END;

CREATE TRIGGER artifact_is_counted AFTER INSERT ON artifacts
BEGIN
  UPDATE tasks SET bytes = bytes + octet_length(NEW.artifact_id) + coalesce(octet_length(NEW.name), 0)
      + coalesce(octet_length(NEW.parts)
        + 40 * (2 * length(NEW.parts) - length(replace(NEW.parts, '{', '')) - length(replace(NEW.parts, '[', ''))), 0)
    WHERE account_id = NEW.account_id AND id = NEW.task_id;
END;

-- The follower cuts the terms, so the tokenizer only separates them. A letter says what a term is, see `src/store/global/search-index.ts`:
-- columns would cost a byte and more for each word. `prefix` is that letter and three of a word.
CREATE VIRTUAL TABLE message_search USING fts5(terms, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii', prefix = '4');

CREATE TRIGGER message_is_not_searchable AFTER DELETE ON messages
BEGIN DELETE FROM message_search WHERE rowid = OLD.seq; END;

CREATE TRIGGER erased_text_is_not_searchable AFTER UPDATE OF body ON messages
BEGIN DELETE FROM message_search WHERE rowid = OLD.seq; END;

INSERT INTO projections (name, seq) VALUES ('conversations', 0), ('traffic', 0), ('search', 0), ('webhook messages', 0),
  ('webhook events', 0), ('browser messages', 0), ('browser events', 0), ('task notices', 0);
