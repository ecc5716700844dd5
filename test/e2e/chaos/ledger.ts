/** Records the messages that a run's clients sent and read, and checks them. Uses only responses of the public API. */

/** A message that a client tried to send. Its text is unique. */
export interface SentMessage {
  sender: string
  /** Aliases of the recipients. */
  inboxes: string[]
  text: string
  /** The message's number among its sender's messages. A sender sends one message at a time. */
  n: number
  /** Whether the recipient must answer the message exactly once. */
  isAnswered?: boolean
  /** The acknowledged id, or undefined while the outcome is unknown. */
  id?: string
}

/** One message in a response of `read_messages`. */
export interface ReadMessage {
  message_id: string
  message: string
  redelivered?: true
  replayed?: true
}

export class Ledger {
  readonly sent: SentMessage[] = []
  readonly byText = new Map<string, SentMessage>()
  /** The messages that readers got, by inbox and in the order of the responses. */
  readonly leased = new Map<string, ReadMessage[]>()
  /** Responses that must never occur: a different id for a retry with the same key, or an unexpected error. */
  readonly surprises: string[] = []
  unknown = 0

  begin(sender: string, inboxes: string[], n: number, text = `${sender} ${n}`): SentMessage {
    const sent = { sender, inboxes, n, text }
    this.sent.push(sent)
    this.byText.set(text, sent)
    return sent
  }

  /** Returns the record of an agent's answer to a question. The agent may try to send the answer repeatedly. */
  answer(sender: string, question: string): SentMessage {
    const text = `re ${question}`
    const asker = this.byText.get(question)?.sender
    return this.byText.get(text) ?? this.begin(sender, asker === undefined ? [] : [asker], 0, text)
  }

  read(inbox: string, messages: ReadMessage[]): void {
    const list = this.leased.get(inbox) ?? []
    list.push(...messages)
    this.leased.set(inbox, list)
  }

  acknowledged(): SentMessage[] {
    return this.sent.filter(({ id }) => id !== undefined)
  }
}

export interface Expectations {
  /** Whether every stored message must be in a response to a reader. */
  everyLease: boolean
  /** Inboxes with one reader at a time, whose responses must be in order. */
  inOrder: string[]
}

/** The messages of each inbox in storage order, as `since` shows them. */
export type Histories = Map<string, ReadMessage[]>

/** Returns every violation of a guarantee. All lists are empty if there is none. */
export function faultsOf(ledger: Ledger, histories: Histories, expectations: Expectations) {
  const inEach = (find: (inbox: string, history: ReadMessage[]) => string[]) =>
    [...histories].flatMap(([inbox, history]) => find(inbox, history).map((fault) => `${inbox}: ${fault}`))
  const leased = (inbox: string) => ledger.leased.get(inbox) ?? []
  const { byText } = ledger

  return {
    lost: inEach((inbox, history) => {
      const ids = new Map(history.map((shown) => [shown.message, shown.message_id]))
      return ledger.acknowledged().filter(({ inboxes, text, id }) => inboxes.includes(inbox) && ids.get(text) !== id)
        .map(({ text }) => text)
    }),
    storedTwice: inEach((_, history) => repeated(history.map(({ message }) => message))),
    invented: inEach((inbox, history) =>
      history.map(({ message }) => message).filter((text) => !byText.get(text)?.inboxes.includes(inbox))
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
    leasedTwice: inEach((inbox) => {
      const seen = new Set<string>()
      return leased(inbox).filter(({ message_id, redelivered, replayed }) => {
        // The response to a retried question may contain an answer that a reader also gets, and may arrive before the
        // reader's response.
        if (replayed) return false
        const isAgain = seen.has(message_id) && !redelivered
        seen.add(message_id)
        return isAgain
      }).map(({ message }) => message)
    }),
    leasedUnstored: inEach((inbox, history) => {
      const ids = new Set(history.map(({ message_id }) => message_id))
      return leased(inbox).filter(({ message_id }) => !ids.has(message_id)).map(({ message }) => message)
    }),
    leasedOutOfOrder: inEach((inbox, history) => {
      if (!expectations.inOrder.includes(inbox)) return []
      const position = new Map(history.map(({ message_id }, i) => [message_id, i]))
      const first = leased(inbox).filter(({ redelivered, replayed }) => !redelivered && !replayed)
      return first.filter(({ message_id }, i) =>
        i > 0 && position.get(message_id)! < position.get(first[i - 1].message_id)!
      )
        .map(({ message }) => message)
    }),
    neverLeased: expectations.everyLease ? neverLeased(ledger, histories) : [],
    unanswered: expectations.everyLease ? unanswered(ledger, histories) : [],
    surprises: ledger.surprises,
  }
}

/** Finds acknowledged questions whose answer is not in the asker's inbox. */
function unanswered(ledger: Ledger, histories: Histories): string[] {
  const found = new Set(
    [...histories].flatMap(([inbox, history]) => history.map(({ message }) => `${inbox}: ${message}`)),
  )
  return ledger.acknowledged().filter(({ isAnswered, sender, text }) =>
    isAnswered && !found.has(`${sender}: re ${text}`)
  )
    .map(({ text }) => text)
}

/** Finds messages that are in an inbox but in no response to a reader, because a process died before it responded. */
export function neverLeased(ledger: Ledger, histories: Histories): string[] {
  return [...histories].flatMap(([inbox, history]) => {
    const ids = new Set(ledger.leased.get(inbox)?.map(({ message_id }) => message_id))
    return history.filter(({ message_id }) => !ids.has(message_id)).map(({ message }) => `${inbox}: ${message}`)
  })
}

export const noFaults: ReturnType<typeof faultsOf> = {
  lost: [],
  storedTwice: [],
  invented: [],
  outOfOrder: [],
  leasedTwice: [],
  leasedUnstored: [],
  leasedOutOfOrder: [],
  neverLeased: [],
  unanswered: [],
  surprises: [],
}

function repeated(texts: string[]): string[] {
  const seen = new Set<string>()
  return texts.filter((text) => seen.size === seen.add(text).size)
}
