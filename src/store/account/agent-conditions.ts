/** Conditions about agents that several statements share. */

/** 1 if the agent of the row is on trial, otherwise 0; also 0 if a join found no agent. */
export const isOnTrial = `EXISTS (
    SELECT 1 FROM trials WHERE trials.account_id = agents.account_id AND trials.agent_id = agents.id)`

/**
 * Condition on the new alias that is bound as `alias`: no agent of another account has or had it. The unique index refuses
 * the alias of a live agent; this refuses that of a deleted one.
 */
export const isNotTakenElsewhere = `NOT EXISTS (
    SELECT 1 FROM agents AS taken WHERE taken.alias = :alias AND taken.account_id <> :account
      AND taken.moved_to IS NULL)`
