/**
 * The expected content of the derived tables and counters, recomputed from their source tables. Each count has its own
 * SQL, so that it does not repeat the product's faults.
 */

/**
 * A derived table. Both queries select `what`, a row's name, and `value`, the row as text. `stored` reads the derived
 * table; `counted` recomputes it from the source tables.
 */
export interface Count {
  name: string
  stored: string
  counted: string
  /** Creates a temporary table that both queries need. libSQL servers refuse it, so only files are checked. */
  setup?: string
  /** The table counts past events, including messages that were later blocked, removed or moved to another account. */
  countsHistory?: true
}

const position = `(SELECT projections.seq FROM projections WHERE projections.name = 'conversations')`

/** Deliveries with their agents' ids. In the view `v_deliveries`, SQLite would begin with the wrong table. */
const delivered = `(SELECT deliveries.*, (
    SELECT agent_numbers.agent_id FROM agent_numbers WHERE agent_numbers.n = deliveries.inbox) AS agent_id
  FROM deliveries)`

/** Both ends of each direct message, once per account that shows it. */
const direct = `
  SELECT m.seq, m.created_at AS at, m.type, m.reply_to_message_id, m.conversation_id, m.account_id AS home,
    m.account_id, m.from_agent_id AS source, m.from_agent_id AS writer,
    iif(d.account_id = m.account_id, d.agent_id, m.recipient) AS target,
    iif(d.account_id = m.account_id, '', d.agent_id) AS external,
    min(m.from_agent_id, d.agent_id) || ' ' || max(m.from_agent_id, d.agent_id) AS pair,
    iif(d.account_id = m.account_id, d.agent_id, NULL) AS reader, d.seq AS delivery_seq
  FROM messages AS m JOIN ${delivered} AS d ON d.seq = m.seq
  WHERE m.channel_id IS NULL AND m.seq BETWEEN 1 AND ${position}
  UNION ALL
  SELECT m.seq, m.created_at, m.type, m.reply_to_message_id, m.conversation_id, m.account_id,
    d.account_id, '@' || m.from_alias, NULL, d.agent_id, m.from_agent_id,
    min(m.from_agent_id, d.agent_id) || ' ' || max(m.from_agent_id, d.agent_id), d.agent_id, d.seq
  FROM messages AS m JOIN ${delivered} AS d ON d.seq = m.seq
  WHERE m.channel_id IS NULL AND d.account_id <> m.account_id AND m.seq BETWEEN 1 AND ${position}`
const threadOf = `iif(conversation_id IS NULL, 'pair ' || pair, 'conversation ' || external || '/' || conversation_id)`
const placed = `
  SELECT account_id, home, ${threadOf} AS thread, seq, at, type, source, target, reply_to_message_id FROM (${direct})
  UNION ALL
  SELECT account_id, account_id, 'channel ' || channel_id, seq, created_at, type, from_agent_id, channel_id,
    reply_to_message_id
  FROM messages WHERE channel_id IS NOT NULL AND seq BETWEEN 1 AND ${position}`
const storedThread = `threads.kind || ' ' || threads.key`

// A message whose parent was removed keeps its root, because the root can no longer be derived.
const parent = (place: string) =>
  `coalesce(
  (SELECT seq FROM messages WHERE account_id = ${place}.home AND id = ${place}.reply_to_message_id),
  (SELECT messages.seq FROM messages WHERE id = ${place}.reply_to_message_id))`

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const newestAt = `(SELECT created_at FROM messages WHERE seq = (SELECT max(seq) FROM messages))`
const recent = `(period_ms = ${hourMs} AND at > ${newestAt} - ${dayMs} OR period_ms = ${dayMs} AND at > ${newestAt} - ${
  7 * dayMs
})`

const sizeOf = (text: string) =>
  `octet_length(${text}) + 40 * (2 * length(${text}) - length(replace(${text}, '{', '')) - length(replace(${text}, '[', '')))`

/** Due outboxes. Only those with something to send count, because an empty outbox ends at its next attempt. */
function dueOutbox(name: string, waiting: string): Count {
  return {
    name,
    stored: `SELECT DISTINCT what, 'due' AS value FROM (${waiting}) WHERE due_at IS NOT NULL`,
    counted: `SELECT DISTINCT what, 'due' AS value FROM (${waiting})`,
  }
}

/** The terms in the search index, which stores no texts. Each row has a `term` and a `doc`. */
const searchTerms = `CREATE VIRTUAL TABLE IF NOT EXISTS temp.search_terms
  USING fts5vocab('main', 'message_search', 'instance')`
/** Messages in the search index. They are placed in a conversation, and their text was neither erased nor retracted. */
const isIndexed = `m.seq BETWEEN 1 AND (SELECT p.seq FROM projections AS p WHERE p.name = 'search') AND m.body <> ''
  AND NOT EXISTS (SELECT 1 FROM deliveries AS gone
    WHERE gone.seq = m.seq AND gone.state = 'retracted')`
const isAscii = (text: string) => `length(${text}) = octet_length(${text})`
const separators = Array.from({ length: 127 }, (_, n) => n + 1)
  .filter((code) => !/[0-9A-Za-z]/.test(String.fromCharCode(code)))
/**
 * The words of ASCII texts, which are runs of letters and digits. `texts` selects `prefix` and `text`. Separators are
 * replaced in steps, because SQL limits nesting.
 */
function wordsOf(texts: string): string {
  const steps = Array.from({ length: Math.ceil(separators.length / 8) }, (_, n) => {
    const text = separators.slice(n * 8, n * 8 + 8).reduce((sql, code) => `replace(${sql}, char(${code}), ' ')`, 'text')
    return `step${n + 1} AS (SELECT prefix, ${text} AS text FROM step${n})`
  })
  return `WITH step0 AS (${texts}), ${steps.join(', ')}
    SELECT DISTINCT prefix || substr(lower(word.value), 1, 40) AS what, 1 AS value
    FROM step${steps.length} JOIN json_each('["' || replace(text, ' ', '","') || '"]') AS word WHERE word.value <> ''`
}

/** The size of a message or an artifact chunk without its texts, and of each of its deliveries. */
const rowBytes = 500
const wasEdited = (account: string) =>
  `${account} IN (SELECT edited.account_id FROM messages AS edited WHERE edited.edited = 1)`
/** The number of inboxes that received a message. A held message has none yet, so its intended inboxes count. */
const inboxesOf = `iif(m.seq > 0,
  (SELECT count(*) FROM deliveries AS d WHERE d.seq = m.seq),
  iif(m.channel_id IS NULL, 1, (SELECT count(*) - 1 FROM channel_members AS c
    WHERE c.account_id = m.account_id AND c.channel_id = m.channel_id)))`
const bytesOfMessage = `octet_length(m.body) + coalesce(octet_length(m.a2a), 0) + ${rowBytes} * (1 + ${inboxesOf})
  + (SELECT iif(count(*) = 0, 0, octet_length(json_group_array(json_object('id', p.id, 'mediaType', p.media_type,
      'encoding', p.encoding, 'content', p.content, 'bytes', p.bytes))))
    FROM parts AS p WHERE p.account_id = m.account_id AND p.message_id = m.id)`
const bytesOfChunk =
  `${rowBytes} + octet_length(json_object('task', a.task_id, 'event', e.id, 'artifactId', a.artifact_id,
  'append', json(iif(a.append, 'true', 'false')), 'lastChunk', json(iif(a.last_chunk, 'true', 'false')),
  'name', a.name, 'parts', a.parts))`
/** Unread messages in the inboxes of remote agents. */
const sentOutside = `
  SELECT d.account_id, d.agent_id, iif(remote.transport IS NULL, m.from_agent_id, '') AS sender_id FROM ${delivered} AS d
  JOIN remote_agents AS remote ON remote.account_id = d.account_id AND remote.agent_id = d.agent_id
  JOIN agents ON agents.account_id = d.account_id AND agents.id = d.agent_id AND agents.deleted_at IS NULL
  JOIN messages AS m ON m.seq = d.seq WHERE d.state = 'unread'`

export const counts: readonly Count[] = [
  {
    name: 'unread messages of inboxes',
    stored: `SELECT n AS what, unread AS value FROM agent_numbers`,
    counted: `SELECT n AS what, count(deliveries.seq) AS value FROM agent_numbers
      LEFT JOIN deliveries ON deliveries.inbox = n AND state = 'unread' GROUP BY n`,
  },
  {
    name: 'numbers of agents',
    stored: `SELECT account_id || ' ' || agent_id AS what, 'numbered' AS value FROM agent_numbers`,
    counted: `SELECT account_id || ' ' || id AS what, 'numbered' AS value FROM agents`,
  },
  {
    name: 'outboxes of remote agents',
    stored: `SELECT sent.account_id || ' ' || sent.agent_id || ' ' || sent.sender_id AS what, 'due' AS value
      FROM remote_outboxes AS sent WHERE due_at IS NOT NULL AND EXISTS (SELECT 1 FROM (${sentOutside}) AS waiting
        WHERE waiting.account_id = sent.account_id AND waiting.agent_id = sent.agent_id
          AND waiting.sender_id = sent.sender_id)`,
    counted: `SELECT DISTINCT account_id || ' ' || agent_id || ' ' || sender_id AS what, 'due' AS value
      FROM (${sentOutside})`,
  },
  {
    name: 'threads',
    stored:
      `SELECT account_id || ' ' || ${storedThread} AS what, messages || ' to ' || last_seq || ' at ' || last_at AS value
      FROM threads`,
    // SQLite takes `at` from the row with the greatest `seq`.
    counted: `SELECT account_id || ' ' || thread AS what, n || ' to ' || newest || ' at ' || at AS value
      FROM (SELECT account_id, thread, count(*) AS n, max(seq) AS newest, at FROM (${placed}) GROUP BY account_id, thread)`,
  },
  {
    name: 'messages of threads',
    stored: `SELECT thread_messages.account_id || ' ' || seq AS what, ${storedThread} AS value
      FROM thread_messages JOIN threads ON threads.id = thread_id`,
    counted: `SELECT account_id || ' ' || seq AS what, thread AS value FROM (${placed})`,
  },
  {
    name: 'roots of chains',
    stored: `SELECT account_id || ' ' || seq AS what, root_seq AS value FROM thread_messages`,
    counted: `SELECT place.account_id || ' ' || place.seq AS what,
        CASE WHEN place.reply_to_message_id IS NULL THEN place.seq
          WHEN parent.seq IS NULL THEN own.root_seq ELSE parent.root_seq END AS value
      FROM (${placed}) AS place
      JOIN thread_messages AS own ON own.account_id = place.account_id AND own.seq = place.seq
      LEFT JOIN thread_messages AS parent ON parent.account_id = place.account_id AND parent.seq < place.seq
        AND parent.seq = ${parent('place')}`,
  },
  {
    name: 'agents of threads',
    countsHistory: true,
    stored: `SELECT thread_agents.account_id || ' ' || ${storedThread} || ' ' || agent_id AS what,
        delivery_seq || ' ' || answered_seq AS value
      FROM thread_agents JOIN threads ON threads.id = thread_id`,
    counted: `SELECT account_id || ' ' || thread || ' ' || agent AS what,
        max(delivery_seq) || ' ' || max(answered_seq) AS value
      FROM (
        SELECT account_id, ${threadOf} AS thread, writer AS agent, 0 AS delivery_seq,
          iif(type = 'human', seq, 0) AS answered_seq
        FROM (${direct}) WHERE writer IS NOT NULL
        UNION ALL
        SELECT account_id, ${threadOf}, reader, delivery_seq, 0 FROM (${direct}) WHERE reader IS NOT NULL)
      GROUP BY account_id, thread, agent`,
  },
  {
    name: 'traffic',
    countsHistory: true,
    stored: `SELECT account_id || ' ' || source || ' ' || target || ' ' || period_ms || ' ' || at AS what,
        messages || ' ' || answers || ' ' || answer_ms || ' ' || last_at AS value
      FROM traffic WHERE ${recent}`,
    counted: `SELECT account_id || ' ' || source || ' ' || target || ' ' || period_ms || ' ' || at AS what,
        count(*) || ' ' || count(asked_at) || ' ' || coalesce(sum(max(0, sent_at - asked_at)), 0) || ' ' || max(sent_at)
          AS value
      FROM (
        SELECT place.account_id, iif(sum.value, '', place.source) AS source, iif(sum.value, '', place.target) AS target,
          period.value AS period_ms,
          place.at / period.value * period.value AS at, place.at AS sent_at, asked.created_at AS asked_at
        FROM (${placed}) AS place JOIN json_each('[${hourMs}, ${dayMs}]') AS period
        JOIN json_each('[0, 1]') AS sum ON sum.value = 0 OR place.account_id = place.home
        LEFT JOIN messages AS asked ON asked.account_id = place.home AND asked.id = place.reply_to_message_id
        WHERE place.type <> 'system' AND place.seq <= (SELECT p.seq FROM projections AS p WHERE p.name = 'traffic'))
      WHERE ${recent} GROUP BY account_id, source, target, period_ms, at`,
  },
  {
    name: 'states and numbers of events of tasks',
    stored: `SELECT account_id || ' ' || id AS what, generation || ' ' || state AS value FROM tasks`,
    counted: `SELECT tasks.account_id || ' ' || tasks.id AS what,
        (SELECT count(*) FROM task_events AS e WHERE e.account_id = tasks.account_id AND e.task_id = tasks.id) || ' ' ||
        (SELECT state FROM task_events AS e WHERE e.account_id = tasks.account_id AND e.task_id = tasks.id
          AND state IS NOT NULL ORDER BY n DESC LIMIT 1) AS value FROM tasks`,
  },
  {
    name: 'order of events of tasks',
    stored: `SELECT account_id || ' ' || task_id || ' ' || seq AS what, n AS value FROM task_events`,
    counted: `SELECT account_id || ' ' || task_id || ' ' || seq AS what,
        row_number() OVER (PARTITION BY account_id, task_id ORDER BY seq) AS value FROM task_events`,
  },
  {
    name: 'bytes of tasks',
    countsHistory: true,
    stored: `SELECT account_id || ' ' || id AS what, bytes AS value FROM tasks`,
    counted: `SELECT tasks.account_id || ' ' || tasks.id AS what,
        coalesce((SELECT sum(octet_length(m.body) + coalesce(octet_length(m.a2a), 0)
            + coalesce((SELECT sum(iif(p.media_type LIKE '%json%', ${sizeOf('p.content')}, octet_length(p.content)))
              FROM parts AS p WHERE p.account_id = m.account_id AND p.message_id = m.id), 0))
          FROM task_messages AS t JOIN messages AS m ON m.account_id = t.sender_account_id AND m.id = t.message_id
          WHERE t.account_id = tasks.account_id AND t.task_id = tasks.id), 0)
        + coalesce((SELECT sum(octet_length(a.artifact_id) + coalesce(octet_length(a.name), 0)
            + coalesce(${sizeOf('a.parts')}, 0))
          FROM artifacts AS a WHERE a.account_id = tasks.account_id AND a.task_id = tasks.id), 0) AS value
      FROM tasks`,
  },
  {
    name: 'bytes of uploads that have come',
    stored: `SELECT account_id || ' ' || id AS what, received AS value FROM uploads`,
    counted: `SELECT uploads.account_id || ' ' || id AS what, coalesce(sum(length(content)), 0) AS value FROM uploads
      LEFT JOIN upload_rows ON upload_rows.account_id = uploads.account_id AND upload_id = id
      GROUP BY uploads.account_id, id`,
  },
  {
    name: 'messages that are held',
    stored: `SELECT account_id || ' ' || id AS what,
        iif(seq < 0, 'held', 'not held') || iif(EXISTS (SELECT 1 FROM ${delivered} AS d
          WHERE d.seq = messages.seq), ', delivered', '') AS value
      FROM messages WHERE seq < 0 OR EXISTS (SELECT 1 FROM held_messages AS h
        WHERE h.sender_account_id = messages.account_id AND h.message_id = messages.id AND h.state = 'held')`,
    counted: `SELECT DISTINCT sender_account_id || ' ' || message_id AS what, 'held' AS value FROM held_messages
      WHERE state IN ('held', 'refused', 'expired', 'retracted', 'joined')
        AND EXISTS (SELECT 1 FROM messages AS m WHERE m.account_id = sender_account_id AND m.id = message_id AND m.seq < 0)
      UNION SELECT sender_account_id || ' ' || message_id, 'held' FROM held_messages WHERE state = 'held'`,
  },
  {
    name: 'messages of trials',
    countsHistory: true,
    stored: `SELECT account_id || ' ' || agent_id AS what, used AS value FROM trials`,
    counted: `SELECT trials.account_id || ' ' || agent_id AS what,
        coalesce(max(trial_number), 0) AS value FROM trials
      LEFT JOIN messages ON messages.account_id = trials.account_id AND from_agent_id = agent_id
      GROUP BY trials.account_id, agent_id`,
  },
  {
    name: 'usage of days',
    countsHistory: true,
    stored:
      `SELECT account_id || ' ' || day || ' ' || subject AS what, messages AS value FROM usage WHERE messages > 0`,
    // An artifact chunk counts like a message.
    counted: `SELECT account_id || ' ' || day || ' ' || subject AS what, sum(n) AS value FROM (
        SELECT account_id, created_at / ${dayMs} * ${dayMs} AS day, '' AS subject, 1 AS n FROM messages WHERE type <> 'system'
        UNION ALL
        SELECT tasks.recipient_account_id, e.at / ${dayMs} * ${dayMs}, '', 1 FROM artifacts
        JOIN tasks ON tasks.account_id = artifacts.account_id AND tasks.id = artifacts.task_id
        JOIN task_events AS e ON e.account_id = artifacts.account_id AND e.task_id = artifacts.task_id AND e.n = artifacts.n
        WHERE artifacts.parts IS NOT NULL
        UNION ALL
        SELECT m.account_id, m.created_at / ${dayMs} * ${dayMs}, d.agent_id, 1 FROM messages AS m
        JOIN ${delivered} AS d ON d.seq = m.seq
        WHERE d.account_id <> m.account_id AND m.channel_id IS NULL AND m.type <> 'system')
      GROUP BY account_id, day, subject`,
  },
  {
    name: 'bytes of days',
    countsHistory: true,
    // Skips accounts with edited messages. An edit before delivery changes a message's text, but not its counted size.
    stored: `SELECT account_id || ' ' || day || ' ' || subject AS what, bytes AS value FROM usage
      WHERE NOT ${wasEdited('usage.account_id')}`,
    counted: `SELECT account_id || ' ' || day || ' ' || subject AS what, sum(bytes) AS value FROM (
        SELECT m.account_id, m.created_at / ${dayMs} * ${dayMs} AS day, '' AS subject, ${bytesOfMessage} AS bytes
        FROM messages AS m WHERE m.type <> 'system'
        UNION ALL
        SELECT m.account_id, m.created_at / ${dayMs} * ${dayMs}, d.agent_id, ${bytesOfMessage} FROM messages AS m
        JOIN ${delivered} AS d ON d.seq = m.seq
        WHERE d.account_id <> m.account_id AND m.channel_id IS NULL AND m.type <> 'system'
        UNION ALL
        SELECT tasks.recipient_account_id, e.at / ${dayMs} * ${dayMs}, '', ${bytesOfChunk} FROM artifacts AS a
        JOIN tasks ON tasks.account_id = a.account_id AND tasks.id = a.task_id
        JOIN task_events AS e ON e.account_id = a.account_id AND e.task_id = a.task_id AND e.n = a.n
        WHERE a.parts IS NOT NULL
        UNION ALL
        SELECT account_id, created_at / ${dayMs} * ${dayMs}, '', bytes FROM uploads) AS spent
      WHERE NOT ${wasEdited('spent.account_id')} GROUP BY account_id, day, subject`,
  },
  {
    // Recipients and accounts are those at the time when the message was assigned to a conversation.
    name: 'search terms of senders and recipients',
    countsHistory: true,
    setup: searchTerms,
    // Terms of attached files are not recomputed.
    stored: `SELECT doc || ' ' || term AS what, 1 AS value FROM search_terms
      WHERE substr(term, 1, 1) NOT IN ('h', 'w', 'k')
        AND doc NOT IN (SELECT m.seq FROM messages AS m WHERE m.body = '')`,
    counted:
      `SELECT DISTINCT seq || ' ' || lower(substr(term, 1, 1) || iif(substr(term, 1, 1) IN ('n', 'r'), hex(substr(term, 2)), replace(substr(term, 2), '-', '')))
        AS what, 1 AS value FROM (
        SELECT m.seq, 'a' || m.account_id AS term FROM messages AS m WHERE ${isIndexed}
        UNION ALL SELECT m.seq, 'f' || m.from_agent_id FROM messages AS m WHERE ${isIndexed}
        UNION ALL SELECT m.seq, 'n' || m.from_alias FROM messages AS m WHERE ${isIndexed}
        UNION ALL SELECT m.seq, 'r' || m.recipient FROM messages AS m WHERE ${isIndexed}
        UNION ALL SELECT m.seq, 'c' || m.channel_id FROM messages AS m WHERE ${isIndexed} AND m.channel_id IS NOT NULL
        UNION ALL
        SELECT m.seq, kind.value || iif(kind.value = 'b', d.account_id, d.agent_id) FROM messages AS m
        JOIN ${delivered} AS d ON d.seq = m.seq
        JOIN json_each('["t", "b", "x"]') AS kind
        WHERE ${isIndexed} AND (kind.value = 't' OR kind.value = iif(d.body IS NULL, 'b', 'x'))
          AND (kind.value <> 'b' OR d.account_id <> m.account_id))`,
  },
  {
    name: 'search terms of texts',
    setup: searchTerms,
    // Only ASCII texts are compared, because SQL can split them into words.
    stored: `SELECT doc || ' ' || term AS what, 1 AS value FROM search_terms JOIN messages AS m ON m.seq = doc
      WHERE substr(term, 1, 1) = 'w' AND ${isAscii('m.body')} AND m.body <> ''`,
    counted: wordsOf(`SELECT m.seq || ' w' AS prefix, m.body AS text FROM messages AS m
      WHERE ${isIndexed} AND ${isAscii('m.body')}`),
  },
  {
    name: 'search terms of texts that were changed for a recipient',
    setup: searchTerms,
    stored: `SELECT doc || ' ' || term AS what, 1 AS value FROM search_terms
      WHERE substr(term, 1, 1) = 'k' AND term NOT LIKE '%hlink' AND doc IN (
        SELECT m.seq FROM messages AS m JOIN ${delivered} AS d ON d.seq = m.seq
        WHERE m.body <> '' AND d.body IS NOT NULL AND ${isAscii('d.body')})`,
    counted: wordsOf(`SELECT m.seq || ' k' || replace(d.agent_id, '-', '') || 'x' AS prefix, d.body AS text
      FROM messages AS m JOIN ${delivered} AS d ON d.seq = m.seq
      WHERE ${isIndexed} AND d.body IS NOT NULL AND ${isAscii('d.body')}`),
  },
  dueOutbox(
    'due outboxes of messages to remote agents',
    `SELECT d.account_id || ' ' || d.agent_id || ' ' || m.from_agent_id AS what, outbox.due_at
    FROM ${delivered} AS d JOIN remote_agents AS remote ON remote.account_id = d.account_id AND remote.agent_id = d.agent_id
    JOIN agents ON agents.account_id = d.account_id AND agents.id = d.agent_id AND agents.deleted_at IS NULL
    JOIN messages AS m ON m.seq = d.seq
    LEFT JOIN remote_outboxes AS outbox ON outbox.account_id = d.account_id AND outbox.agent_id = d.agent_id
      AND outbox.sender_id IN ('', m.from_agent_id)
    WHERE d.state = 'unread'`,
  ),
  dueOutbox(
    'due outboxes of answers of remote agents',
    `SELECT account_id || ' ' || agent_id || ' ' || id AS what, due_at FROM remote_tasks WHERE state = 'working'`,
  ),
  dueOutbox(
    'due outboxes of webhooks',
    `SELECT webhooks.account_id || ' ' || webhooks.id AS what, due_at FROM webhooks
    JOIN webhook_events AS e ON e.account_id = webhooks.account_id AND e.webhook_id = webhooks.id`,
  ),
  dueOutbox(
    'due outboxes of push notifications of tasks',
    `SELECT config.account_id || ' ' || config.id AS what, due_at FROM task_push_configs AS config
    JOIN tasks ON tasks.account_id = config.account_id AND tasks.id = config.task_id
    WHERE ended_at IS NULL AND generation > sent_n`,
  ),
]
