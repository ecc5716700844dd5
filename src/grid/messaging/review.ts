/** Reviewing a message before it is committed. */
import { checkGuardrails } from './check-guardrails.ts'
import type { ReviewCheck } from './review-check.ts'

/** The checks of a message that has a guardrail of its sender or of a recipient, in their order. */
export const reviewChecks: readonly ReviewCheck[] = [checkGuardrails]
