/** The requests that arrive at external servers, and the faults in them. */
import type { RemoteCall } from '../../support/remote-agent.ts'
import type { Webhook } from '../../support/webhook.ts'
import type { Histories, Ledger, SentMessage } from './ledger.ts'

export interface Arrival {
  /** The sequence whose arrivals must be in order: that of a sender, an inbox or a task. */
  line: string
  /** The arrival's position in its sequence. */
  n: number
  about: string
  /** The id by which the receiver recognises a duplicate. */
  id: string
}

/**
 * Finds expected arrivals that are missing, ids that are not one to one, and arrivals that are out of order in their
 * sequence.
 */
export function arrivalFaults(arrivals: Arrival[], expected: string[]) {
  const abouts = new Set(arrivals.map(({ about }) => about))
  const ids = new Map<string, string>()
  const newest = new Map<string, number>()
  return {
    missing: expected.filter((about) => !abouts.has(about)),
    otherId: arrivals.filter(({ about, id }) => {
      const known = [ids.get(`about ${about}`) ?? id, ids.get(`id ${id}`) ?? about]
      ids.set(`about ${about}`, known[0]).set(`id ${id}`, known[1])
      return known[0] !== id || known[1] !== about
    }).map(({ about }) => about),
    outOfOrder: arrivals.filter(({ line, n }) => {
      const before = newest.get(line) ?? -1
      newest.set(line, Math.max(before, n))
      return n < before
    }).map(({ line, about }) => `${line}: ${about}`),
  }
}

export const noArrivalFaults = { missing: [], otherId: [], outOfOrder: [] }

/** Returns the messages that a remote agent received. */
export function arrivedMessages(calls: RemoteCall[], ledger: Ledger): Arrival[] {
  return calls.map(({ params: { message } }) => {
    const about = String(message!.parts[0].text)
    const { sender, n } = ledger.byText.get(about)!
    return { line: sender, n, about, id: message!.messageId }
  })
}

/** Returns the messages sent to a webhook. Each is in its sender's sequence, and in the sequences of its inboxes. */
export function arrivedNotices({ taken }: Webhook, ledger: Ledger, histories: Histories): Arrival[] {
  const lines: [string, Map<string, number>][] = [...histories].map(([inbox, history]) => [
    `inbox of ${inbox}`,
    new Map(history.map(({ message_id }, n) => [message_id, n])),
  ])
  for (const { sender, n, id } of ledger.acknowledged()) {
    const line = lines.find(([name]) => name === sender) ?? lines[lines.push([sender, new Map()]) - 1]
    line[1].set(id!, n)
  }
  return taken.flatMap(({ headers, body: { data: { message_id: about } } }) =>
    lines.filter(([, places]) => places.has(about)).map(([line, places]) => ({
      line,
      n: places.get(about)!,
      about,
      id: String(headers['webhook-id']),
    }))
  )
}

/** Returns the ids of acknowledged messages that have a recipient and satisfy `isOfAccount`. */
export function toldMessages(ledger: Ledger, isOfAccount: (sent: SentMessage) => boolean): string[] {
  return ledger.acknowledged().filter((sent) => sent.inboxes.length > 0 && isOfAccount(sent)).map(({ id }) => id!)
}
