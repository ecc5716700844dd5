/** Answers that an agent offers to a person. See docs/conversations.md, "Choices". */
import { invalidInput } from '../../errors.ts'
import { cleanedLine } from '../../lib/invisible-text.ts'
import { hasAtMost } from '../../lib/text.ts'
import type { Recipient } from './outgoing-message.ts'

const maxChoices = 6
const maxChoiceLength = 60

/** Cleans choices: one line each, no invisible characters. Returns `given` if unchanged. Fails with `invalid_input`. */
export function cleanChoices(given: string[]): string[] {
  if (given.length > maxChoices) throw refused(`Give at most ${maxChoices} choices.`)
  const choices = given.map((choice) => cleanedLine(choice).replace(/\s+/g, ' '))
  for (const choice of choices) {
    if (choice === '') throw refused('A choice is empty.')
    if (!hasAtMost(choice, maxChoiceLength)) {
      throw refused(`A choice must have at most ${maxChoiceLength} characters. Explain it in the message.`)
    }
  }
  if (new Set(choices).size < choices.length) throw refused('Two choices are the same.')
  return choices.every((choice, n) => choice === given[n]) ? given : choices
}

/** Fails with `invalid_input` unless the recipient is a person of the sender's account. */
export function requirePerson({ isPerson, label }: Recipient): void {
  if (isPerson) return
  throw refused(`choices are for a person of your account: type human in list_agents. Write to ${label} without them.`)
}

function refused(message: string) {
  return invalidInput(message, 'choices')
}

/** Returns the choices of a stored message from its details; none if these are damaged. */
export function choicesOf(details: string | null): string[] {
  const choices = details === null ? undefined : memberOf(details, 'choices')
  return Array.isArray(choices) && choices.every((choice) => typeof choice === 'string') ? choices : []
}

/** Returns the choice of an answer from its details; undefined for a typed answer. */
export function chosenIn(details: string | null): { choice: string; index: number } | undefined {
  const parts = details === null ? undefined : memberOf(details, 'parts')
  const { choice, index } = (Array.isArray(parts) ? parts[0]?.data : undefined) ?? {}
  return typeof choice === 'string' && typeof index === 'number' ? { choice, index } : undefined
}

function memberOf(json: string, name: string): unknown {
  try {
    return JSON.parse(json)?.[name]
  } catch {
    return undefined
  }
}
