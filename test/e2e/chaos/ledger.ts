/** What clients of a run were told, and what of it does not hold. It knows only answers of the public API. */

/** One message that somebody tried to send, under one text. */
export interface Sent {
  sender: string
  /** Aliases of the mailboxes it is for. */
  mailboxes: string[]
  text: string
  /** Its place among what the sender sent: each was begun after the one before had its answer, or was given up. */
  n: number
  /** As acknowledged; undefined while the outcome is unknown. */
  id?: string
}

/** One message of an answer of `read_messages`. */
export interface Shown {
  message_id: string
  message: string
  redelivered?: true
  replayed?: true
}

export class Ledger {
  readonly sent: Sent[] = []
  /** What was handed out, by mailbox, in the order of the answers. */
  readonly handedOut = new Map<string, Shown[]>()
  /** Answers that no promise allows: another id for a repeated key, an internal error, a refusal without a reason. */
  readonly surprises: string[] = []
  unknown = 0

  begin(sender: string, mailboxes: string[], n: number): Sent {
    const sent = { sender, mailboxes, n, text: `${sender} ${n}` }
    this.sent.push(sent)
    return sent
  }

  handOut(mailbox: string, messages: Shown[]): void {
    const list = this.handedOut.get(mailbox) ?? []
    list.push(...messages)
    this.handedOut.set(mailbox, list)
  }

  acknowledged(): Sent[] {
    return this.sent.filter(({ id }) => id !== undefined)
  }
}

export interface Demands {
  /** Whether every message must have been handed out or given back: then each is in an answer to a reader. */
  everyHandOut: boolean
  /** Mailboxes read by one reader at a time, whose answers therefore have an order. */
  inOrder: string[]
}

/** A mailbox in the order of storing, as reading again shows it. */
export type Histories = Map<string, Shown[]>

/** Every promise that does not hold; empty lists when all do. */
export function faultsOf(ledger: Ledger, histories: Histories, demands: Demands) {
  const inEach = (find: (mailbox: string, history: Shown[]) => string[]) =>
    [...histories].flatMap(([mailbox, history]) => find(mailbox, history).map((fault) => `${mailbox}: ${fault}`))
  const handedOut = (mailbox: string) => ledger.handedOut.get(mailbox) ?? []
  const byText = new Map(ledger.sent.map((sent) => [sent.text, sent]))

  return {
    lost: inEach((mailbox, history) => {
      const ids = new Map(history.map((shown) => [shown.message, shown.message_id]))
      return ledger.acknowledged().filter(({ mailboxes, text, id }) =>
        mailboxes.includes(mailbox) && ids.get(text) !== id
      )
        .map(({ text }) => text)
    }),
    storedTwice: inEach((_, history) => repeated(history.map(({ message }) => message))),
    invented: inEach((mailbox, history) =>
      history.map(({ message }) => message).filter((text) => !byText.get(text)?.mailboxes.includes(mailbox))
    ),
    outOfOrder: inEach((_, history) => {
      const newest = new Map<string, number>()
      return history.map(({ message }) => byText.get(message)).filter((sent) => {
        if (sent?.id === undefined) return false
        const before = newest.get(sent.sender) ?? -1
        newest.set(sent.sender, Math.max(before, sent.n))
        return sent.n < before
      }).map((sent) => sent!.text)
    }),
    handedOutTwice: inEach((mailbox) => {
      const seen = new Set<string>()
      return handedOut(mailbox).filter(({ message_id, redelivered, replayed }) => {
        const isAgain = seen.has(message_id) && !redelivered && !replayed
        seen.add(message_id)
        return isAgain
      }).map(({ message }) => message)
    }),
    handedOutUnstored: inEach((mailbox, history) => {
      const ids = new Set(history.map(({ message_id }) => message_id))
      return handedOut(mailbox).filter(({ message_id }) => !ids.has(message_id)).map(({ message }) => message)
    }),
    handedOutOutOfOrder: inEach((mailbox, history) => {
      if (!demands.inOrder.includes(mailbox)) return []
      const place = new Map(history.map(({ message_id }, i) => [message_id, i]))
      const first = handedOut(mailbox).filter(({ redelivered, replayed }) => !redelivered && !replayed)
      return first.filter(({ message_id }, i) => i > 0 && place.get(message_id)! < place.get(first[i - 1].message_id)!)
        .map(({ message }) => message)
    }),
    neverHandedOut: demands.everyHandOut ? neverHandedOut(ledger, histories) : [],
    surprises: ledger.surprises,
  }
}

/** What is in a mailbox and in no answer to its reader: a process died with the answer. */
export function neverHandedOut(ledger: Ledger, histories: Histories): string[] {
  return [...histories].flatMap(([mailbox, history]) => {
    const ids = new Set(ledger.handedOut.get(mailbox)?.map(({ message_id }) => message_id))
    return history.filter(({ message_id }) => !ids.has(message_id)).map(({ message }) => `${mailbox}: ${message}`)
  })
}

export const noFaults: ReturnType<typeof faultsOf> = {
  lost: [],
  storedTwice: [],
  invented: [],
  outOfOrder: [],
  handedOutTwice: [],
  handedOutUnstored: [],
  handedOutOutOfOrder: [],
  neverHandedOut: [],
  surprises: [],
}

function repeated(texts: string[]): string[] {
  const seen = new Set<string>()
  return texts.filter((text) => seen.size === seen.add(text).size)
}
