/** Cursors: a position in the inbox of one agent, which the agent keeps and passes back without reading it. */
import { crc32 } from 'node:zlib'
import { GridError } from '../../errors.ts'
import type { AccountStore } from '../../store/account.ts'

/** The cursor of the position `seq`, bound to the agent and to this history of the store. */
export function cursorAt(account: AccountStore, agentId: string, seq: number): string {
  const position = `${account.epoch}.${seq.toString(36)}`
  return `${position}.${checksum(agentId, position)}`
}

/**
 * The `seq` of a cursor. Fails with `invalid_input` if it is damaged or belongs to another agent, and with
 * `cursor_expired` if it was made before a restore. See docs/delivery.md, "Cursors".
 */
export function positionOf(account: AccountStore, agentId: string, cursor: string): number {
  const [, epoch, seq, sum] = cursor.match(/^([0-9a-f]{8})\.([0-9a-z]{1,10})\.([0-9a-z]{1,7})$/) ?? []
  if (sum === undefined || sum !== checksum(agentId, `${epoch}.${seq}`)) {
    throw new GridError(
      'invalid_input',
      'since takes last_batch, a duration such as 1h (s, m, h or d), an ISO time, a message_id, or a cursor that you were given, unchanged.',
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

function checksum(agentId: string, position: string): string {
  return crc32(`${agentId}.${position}`).toString(36)
}
