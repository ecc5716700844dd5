/** The stored fields of a held message. */
import type { TaskState } from './task-ends.ts'

/** The rule or guardrails that hold a message, as they were when it was held. */
export interface HoldingRule {
  /** Null if guardrails hold the message. Owners and admins then decide. */
  id: string | null
  name: string
  /** User ids. If all of them have left, the owners decide. */
  deciders: string[]
  isRisky: boolean
}

export interface HeldFinding {
  guardrail: string
  kinds: string[]
}

/** The recipient's change to a task, which waits together with the message. */
export interface HeldStep {
  state?: TaskState | null
  chunk?: { artifactId: string; append: boolean; lastChunk: boolean; name: string | null }
}

/** Data that is needed to deliver a held message and that the message's own row does not contain. */
export interface HeldDelivery {
  taskId: string | null
  isInTaskAlone: boolean
  expiresAt: number | null
  contextId: string | null
  step?: HeldStep
}

export interface NewHeld {
  id: string
  /** The account whose people decide. By default, the sender's account. */
  heldIn?: string
  toId: string
  rule: HoldingRule
  findings: HeldFinding[]
  later: HeldDelivery
  sentAt: number
  expiresAt: number
}
