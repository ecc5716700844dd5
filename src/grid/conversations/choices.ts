/** Choices that agents offer people, and the people's answers. See docs/conversations.md, "Choices". */
import type { AccountStore } from '../../store/account.ts'
import { choicesOf, chosenIn } from '../message/choices.ts'
import type { ThreadMessage } from './messages.ts'

export interface Choices {
  offered: string[]
  /** Whether the person may still answer. */
  isOpen: boolean
  /** The index of the person's first choice; absent if they have not answered, or have typed an answer instead. */
  chosen?: number
}

/** Returns the choices of messages, by `seq`; messages without choices are absent. */
export async function choicesIn(account: AccountStore, messages: ThreadMessage[]): Promise<Map<number, Choices>> {
  const offers = messages.flatMap(({ seq, a2a }) => {
    const offered = choicesOf(a2a)
    return offered.length === 0 ? [] : [{ seq, offered }]
  })
  if (offers.length === 0) return new Map()
  const states = await account.read.questions.choices(offers.map(({ seq }) => seq), account.deps.now())
  const stateOf = new Map(states.map((state) => [state.seq, state]))
  return new Map(offers.map(({ seq, offered }) => {
    const { isOpen = false, answer = null } = stateOf.get(seq) ?? {}
    const { choice, index = -1 } = chosenIn(answer) ?? {}
    return [seq, {
      offered,
      isOpen: isOpen && answer === null,
      ...(choice !== undefined && choice === offered[index] && { chosen: index }),
    }]
  }))
}
