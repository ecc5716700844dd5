/**
 * Held chunks of an artifact: the next chunk includes their content, so that people decide on the artifact as a whole.
 */
import { callingAgent } from '../../auth/actor.ts'
import type { AccountStore } from '../../store/account.ts'
import type { NewMessage } from '../../store/account/new-message.ts'
import type { HeldStep } from '../../store/account/new-held.ts'
import type { SendPart } from '../message/outgoing-message.ts'
import { wholeDetails, withText } from './shown-task.ts'
import type { TaskState } from './task.ts'

export interface HeldArtifact {
  id: string
  chunk: NonNullable<HeldStep['chunk']>
  parts: unknown[]
}

/** Returns the held content of an artifact that the calling agent continues, or ends by writing other content. */
export async function heldBefore(
  account: AccountStore,
  task: string,
  chunk?: { artifactId: string; append: boolean },
): Promise<HeldArtifact | undefined> {
  if (chunk && !chunk.append) return undefined
  const { agentId } = callingAgent(account.actor)
  const found = await account.read.held.chunk(agentId, task, chunk?.artifactId ?? null)
  if (!found) return undefined
  const { id, body, a2a, later, parts } = found
  const given = a2a === null ? undefined : wholeDetails(a2a, parts).parts
  return { id, chunk: later.step!.chunk!, parts: withText(body, a2a, given) }
}

/** Joins the held content with the message that now includes it, so that people decide only on that message. */
export function joinPart(
  { change: { held } }: AccountStore,
  { id }: HeldArtifact,
  { id: message, at }: NewMessage,
): SendPart {
  return { preconditions: [held.requireHeld(id, message)], statements: [held.join(id, at)], needsMessage: true }
}

export function endPart({ change: { held } }: AccountStore, { id }: HeldArtifact): SendPart {
  return { statements: [held.endChunk(id, null)], needsMessage: true }
}

/**
 * Finishes a held artifact with its task's state, which takes effect when a person approves it. False if nothing is
 * held.
 */
export async function endHeldArtifact(account: AccountStore, task: string, state: TaskState): Promise<boolean> {
  const held = state === 'working' ? undefined : await heldBefore(account, task)
  if (!held) return false
  await account.write([account.change.held.endChunk(held.id, state)])
  return true
}
