/** Messages of agents that wait for the answer of a person. See docs/web.md, "Attention". */
import { allows, callingUser, requirePermission } from '../../auth/actor.ts'
import type { AccountStore } from '../../store/account.ts'
import { maxQuestions, maxWaiting, type Question } from '../../store/account/questions.ts'
import { findThread, unknownConversation } from './threads.ts'

export { maxQuestions, maxWaiting, type Question }

/**
 * The conversations in which the calling user owes an agent an answer, the longest waiting first; of more than
 * `maxQuestions` the newest. Any message of theirs there answers all that came before, but an open choice waits until one
 * is taken. Reading ends neither.
 */
export async function questionsOf(account: AccountStore): Promise<Question[]> {
  const { userId, role } = callingUser(account.actor)
  return allows(role, 'use') ? await account.read.questions.ofUser(userId, account.deps.now()) : []
}

/** How many conversations wait, with those that are more than `maxQuestions`. */
export function countQuestions(questions: readonly Question[]): number {
  return questions[0]?.total ?? 0
}

/** The calling user owes no answer to what was said up to a message. Fails with `conversation_not_found`. */
export async function dismissQuestion(account: AccountStore, threadId: number, upTo: number): Promise<void> {
  const { userId } = callingUser(account.actor)
  requirePermission(account.actor, 'use')
  if (!await findThread(account, threadId)) throw unknownConversation()
  await account.write([account.change.questions.dismiss(userId, threadId, upTo)])
}
