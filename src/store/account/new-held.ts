/** What is stored of a message that is held. */
import type { TaskState } from './task-ends.ts'

/** What holds a message, as it was then. */
export interface HoldingRule {
  /** Null if guardrails hold it: then the owners and admins decide. */
  id: string | null
  name: string
  /** The ids of users. If none of them is left, the owners decide. */
  deciders: string[]
  isRisky: boolean
}

export interface HeldFinding {
  guardrail: string
  kinds: string[]
}

/** A change of a task by its recipient that waits with the message. */
export interface HeldStep {
  state?: TaskState | null
  chunk?: { artifactId: string; append: boolean; lastChunk: boolean; name: string | null }
}

/** What the delivery of a held message needs that its row does not say. */
export interface HeldDelivery {
  taskId: string | null
  isInTaskAlone: boolean
  expiresAt: number | null
  contextId: string | null
  step?: HeldStep
}

export interface NewHeld {
  id: string
  /** The account whose people decide, if it is not that of the sender. */
  heldIn?: string
  toId: string
  rule: HoldingRule
  findings: HeldFinding[]
  later: HeldDelivery
  sentAt: number
  expiresAt: number
}
