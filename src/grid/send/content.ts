/** A send's content as it is checked, hashed and stored: without invisible characters. */
import { Buffer } from 'node:buffer'
import { GridError } from '../../errors.ts'
import { cleanedLine, withoutInvisible, withoutInvisibleIn } from '../../lib/invisible-text.ts'
import { maxTextBytes, wellFormed } from '../../lib/text.ts'
import { cleanChoices } from '../message/choices.ts'
import type { A2aDetails, SendInput } from '../message/outgoing-message.ts'
import { type Keyed, keyOf, requestOf } from './once.ts'

export interface Content extends Keyed {
  text: string
  details?: A2aDetails
  sanitized: boolean
}

/** Fails with `invalid_input` or `message_too_long`. */
export function contentOf(input: SendInput): Content {
  const { conversationId } = input
  if (conversationId !== undefined && withoutInvisible(wellFormed(conversationId) ?? '') !== conversationId) {
    throw new GridError('invalid_input', 'The conversation id contains invisible characters or is not valid Unicode.')
  }
  const { text, isCleaned } = checkText(input.text, input.a2a ? Infinity : maxTextBytes)
  const given = input.a2a ?? givenDetails(input)
  const details = given && cleanedDetails(given)
  const { key, requestHash } = keyOf(input.idempotencyKey, () => requestOf(input, text, details))
  return { text, details, sanitized: isCleaned || details !== given, key, requestHash }
}

/** Returns well-formed, non-empty text without invisible characters. `isCleaned` means that some were removed. */
export function checkText(text: string, maxBytes = maxTextBytes): { text: string; isCleaned: boolean } {
  const given = wellFormed(text)
  if (given === undefined) throw new GridError('invalid_input', 'The message contains U+0000. Remove it.')
  if (given === '') throw new GridError('invalid_input', 'The message is empty.')
  const checked = withoutInvisible(given)
  if (checked === '') throw new GridError('invalid_input', 'The message has only invisible characters. Write text.')
  const bytes = Buffer.byteLength(checked)
  if (bytes > maxBytes) {
    const problem = `The message has ${bytes} bytes; at most ${maxBytes} are allowed.`
    throw new GridError('message_too_long', `${problem} Split it, or upload it as a file.`)
  }
  return { text: checked, isCleaned: checked !== given }
}

function givenDetails({ parts = [], choices = [] }: SendInput): A2aDetails | undefined {
  if (parts.length + choices.length === 0) return undefined
  // Choices come first, because the index of messages with choices requires it.
  return { ...(choices.length > 0 && { choices }), ...(parts.length > 0 && { parts }) }
}

/** Removes invisible characters from details. Returns the same object if nothing changed. */
function cleanedDetails(given: A2aDetails): A2aDetails {
  const details = withoutInvisibleIn(given)
  const parts = details.parts && withCleanNames(details.parts)
  const choices = details.choices && cleanChoices(details.choices)
  return parts === details.parts && choices === details.choices ? details : { ...details, parts, choices }
}

/** Makes parts' file names single lines without invisible characters. Returns the same object if nothing changed. */
function withCleanNames(parts: unknown[]): unknown[] {
  const cleaned = parts.map((part) => {
    const { filename } = part as { filename?: unknown }
    if (typeof filename !== 'string') return part
    const name = cleanedLine(filename)
    return name === filename ? part : { ...part as object, filename: name }
  })
  return cleaned.every((part, n) => part === parts[n]) ? parts : cleaned
}
