/** Cursors: a place in one agent's mailbox, which the agent keeps and hands back. Opaque to it. */
import { crc32 } from 'node:zlib'
import { GridError } from '../../errors.ts'
import type { AccountStore } from '../../store/account.ts'

/** The place of a message, bound to the agent and to this history of the store. */
export function cursorAt(account: AccountStore, agentId: string, seq: number): string {
  const place = `${account.epoch}.${seq.toString(36)}`
  return `${place}.${check(agentId, place)}`
}

/**
 * The `seq` of a cursor. Fails with `invalid_input` when it is damaged or another agent's, and with
 * `cursor_expired` when it is from before a restore. Reliability 9.
 */
export function placeOf(account: AccountStore, agentId: string, cursor: string): number {
  const [, epoch, seq, sum] = cursor.match(/^([0-9a-f]{8})\.([0-9a-z]{1,10})\.([0-9a-z]{1,7})$/) ?? []
  if (sum === undefined || sum !== check(agentId, `${epoch}.${seq}`)) {
    throw new GridError(
      'invalid_input',
      'since takes last_batch, a duration such as 1h (s, m, h or d), or a cursor that you were given, unchanged.',
      { field: 'since' },
    )
  }
  if (epoch !== account.epoch) {
    throw new GridError(
      'cursor_expired',
      'This cursor is from before the grid was restored from a backup. Call with since: "24h" instead.',
      { field: 'since' },
    )
  }
  return parseInt(seq, 36)
}

function check(agentId: string, place: string): string {
  return crc32(`${agentId}.${place}`).toString(36)
}
