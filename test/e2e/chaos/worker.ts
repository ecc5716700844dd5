/**
 * A worker that answers questions over REST, and takes the next question with each answer. See docs/protocol/rest.md,
 * "Inbox".
 */
import { randomUUID } from 'node:crypto'
import { type LoadedAgent, pause } from '../load.ts'
import type { Load } from './clients.ts'
import type { ReadMessage } from './ledger.ts'
import { pauseMs, rest, settled } from './outcome.ts'

interface Leased {
  lease_id: string | null
  messages: (ReadMessage & { reply_to: string })[]
}

/** The lease has the minimum duration, so that it expires soon if the response with the lease was lost. */
const next = { limit: 1, seconds: 30, wait_seconds: 1 }

/** Answers questions until the load ends. */
export async function work({ base, ledger, ended }: Load, worker: LoadedAgent): Promise<void> {
  let leased: Leased | undefined
  for (let n = 0;; n++) {
    if (!leased?.lease_id) {
      if (ended.aborted) return
      const taken = await rest(base, worker.key, '/api/v1/inbox/leases', next)
      leased = undefined
      if (taken === 'unknown') await pause(pauseMs)
      else if ('done' in taken) leased = received(taken.done)
      else ledger.surprises.push(`${worker.alias} leases: ${taken.refused}`)
      continue
    }
    const { lease_id, messages: [question] } = leased
    const answer = ledger.answer(worker.alias, question.message)
    // Number the answer by its newest attempt, because a question whose lease expired is answered after later ones.
    answer.n = n
    const body = {
      to: question.reply_to,
      message: answer.text,
      reply_to_message_id: question.message_id,
      acks: { lease_id },
      next,
    }
    const key = randomUUID()
    const attempt = () => rest(base, worker.key, '/api/v1/messages', body, key)
    const outcome = await settled(attempt, () => ledger.unknown++)
    leased = undefined
    if ('done' in outcome) {
      answer.id = outcome.done.message_id
      if (outcome.done.next.error === undefined) leased = received(outcome.done.next)
    } else if (!outcome.refused.startsWith('stale_lease')) {
      ledger.surprises.push(`${answer.text}: ${outcome.refused}`)
    }
  }

  function received(lease: Leased): Leased {
    ledger.read(worker.alias, lease.messages)
    return lease
  }
}
