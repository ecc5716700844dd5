/** SQL conditions for who may decide on a row of `held_messages`. Statements name this row `held`. */

const isAuthor = (user: string) =>
  `EXISTS (SELECT 1 FROM person_aliases WHERE person_aliases.account_id = held.sender_account_id AND person_aliases.agent_id = held.from_agent_id
    AND person_aliases.user_id = ${user})`
const isNamed = (user: string) => `${user} IN (SELECT value FROM json_each(held.rule, '$.deciders'))`
const namedIsLeft = `EXISTS (SELECT 1 FROM memberships AS named WHERE named.account_id = held.account_id
  AND named.role <> 'viewer' AND ${isNamed('named.user_id')} AND NOT ${isAuthor('named.user_id')})`
/** Condition: the member of the row `member` may decide on the row `held`. Nobody decides on their own message. */
export const mayDecide = `(member.account_id = held.account_id AND member.role <> 'viewer'
  AND NOT ${isAuthor('member.user_id')} AND CASE
    WHEN held.rule ->> '$.id' IS NULL THEN member.role IN ('owner', 'admin')
    WHEN ${namedIsLeft} THEN ${isNamed('member.user_id')}
    ELSE member.role = 'owner' END)`
export const userMayDecide =
  `EXISTS (SELECT 1 FROM memberships AS member WHERE member.user_id = :user AND ${mayDecide})`
// The chunks of an unfinished artifact are decided on together, when the artifact ends.
export const isWhole = `(held.later ->> '$.step.chunk' IS NULL OR held.later ->> '$.step.chunk.lastChunk'
  OR held.later ->> '$.step.state' IN ('completed', 'failed', 'rejected', 'input-required', 'auth-required'))`

/** The members who may decide on the row `held`, by the names that agents see. */
export const deciders = `(SELECT json_group_array(coalesce('@' || agents.alias, nullif(users.name, ''), member.role))
  FROM memberships AS member JOIN users ON users.id = member.user_id
  LEFT JOIN person_aliases ON person_aliases.account_id = member.account_id AND person_aliases.user_id = member.user_id
  LEFT JOIN agents ON agents.account_id = person_aliases.account_id AND agents.id = person_aliases.agent_id
  WHERE ${mayDecide} LIMIT 10)`
