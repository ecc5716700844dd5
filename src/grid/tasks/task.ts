/** Tasks, independent of the A2A version. See docs/protocol/messages.md, "Tasks". */
import type { Part } from '../message/part.ts'

/** The states of a task, as A2A 0.3 spells them. */
export const taskStates = [
  'submitted',
  'working',
  'input-required',
  'auth-required',
  'completed',
  'canceled',
  'failed',
  'rejected',
] as const
export type TaskState = (typeof taskStates)[number]

const terminalStates: readonly TaskState[] = ['completed', 'canceled', 'failed', 'rejected']
const interruptedStates: readonly TaskState[] = ['input-required', 'auth-required']

export function isTerminal(state: TaskState): boolean {
  return terminalStates.includes(state)
}

export function isInterrupted(state: TaskState): boolean {
  return interruptedStates.includes(state)
}

/** Whether a task stream ends with this state. The response to a send also ends when the task waits for its client. */
export function endsStream(state: TaskState, isOfSend: boolean): boolean {
  return isTerminal(state) || (isOfSend && isInterrupted(state))
}

export interface TaskMessage {
  messageId: string
  role: 'user' | 'agent'
  parts: Part[]
  metadata?: Record<string, unknown>
  extensions?: string[]
  referenceTaskIds?: string[]
}

export interface Artifact {
  artifactId: string
  name?: string
  description?: string
  parts: Part[]
  metadata?: Record<string, unknown>
  extensions?: string[]
}

export interface TaskStatus {
  state: TaskState
  message?: TaskMessage
  at: number
}

export interface Task {
  id: string
  /** The client's id of the context, or the id that the server generated. */
  contextId: string
  recipient: string
  status: TaskStatus
  history: TaskMessage[]
  artifacts: Artifact[]
  generation: number
  mode: TaskMode
}

/** An event of a task. `n` counts from 1 without gaps. `at` is milliseconds since the epoch. */
export type TaskEvent =
  & { n: number; at: number }
  & (
    | { type: 'status'; status: TaskStatus }
    /** `append`: the parts are appended to the artifact with this id. Otherwise they replace it. */
    | { type: 'artifact'; artifact: Artifact; append: boolean; lastChunk: boolean }
  )

/**
 * How a task is answered. `receipt`: its client was told that the message was delivered, and replies also go into its
 * inbox. `task`: its client follows the task, and replies are only in the task. `message`: like `task`, but the client
 * has not been shown the task and gets a plain reply instead. See docs/protocol/a2a.md, "Message replies".
 */
export type TaskMode = 'receipt' | 'task' | 'message'

/** Returns the plain reply that a task's client gets instead of the task; undefined if it gets the task. */
export function bareReply({ mode, status, artifacts: [artifact] }: Task): TaskMessage | undefined {
  if (mode !== 'message' || status.state !== 'completed' || !artifact) return undefined
  return { messageId: artifact.artifactId, role: 'agent', parts: artifact.parts }
}
