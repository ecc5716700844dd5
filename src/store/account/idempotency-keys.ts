/** What statements share that store something once under an idempotency key: a send, or an update of a task. */

/** The key `:key` of the agent `:from` was not used after `:keysSince`. */
export const isNewKey = `NOT EXISTS (SELECT 1 FROM idempotency_keys
  WHERE idempotency_keys.account_id = :account AND idempotency_keys.agent_id = :from AND idempotency_keys.key = :key
    AND idempotency_keys.created_at > :keysSince)`

/** Stores the key with the message that `source` finds. It replaces a key of before `:keysSince`. */
export function addingKey(source: string): string {
  return `
  INSERT INTO idempotency_keys (account_id, agent_id, key, request_hash, sender_account_id, message_id, created_at)
  SELECT :account, :from, :key, :requestHash, messages.account_id, messages.id, :at FROM ${source}
  ON CONFLICT (account_id, agent_id, key) DO UPDATE SET request_hash = excluded.request_hash,
    sender_account_id = excluded.sender_account_id, message_id = excluded.message_id,
    created_at = excluded.created_at, receipt = NULL
    WHERE created_at <= :keysSince`
}
