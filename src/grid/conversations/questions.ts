/** Messages from agents that wait for a person's answer. See docs/web.md, "Attention". */
import { allows, callingUser, requirePermission } from '../../auth/actor.ts'
import type { AccountStore } from '../../store/account.ts'
import { maxQuestions, maxWaiting, type Question } from '../../store/account/questions.ts'
import { findThread, unknownConversation } from './threads.ts'

export { maxQuestions, maxWaiting, type Question }

/**
 * Returns the conversations in which the calling user owes an agent an answer, longest wait first, limited to the
 * newest `maxQuestions`. A message from the user in a conversation answers all earlier messages there, except open
 * choices, which need a choice. Reading a message does not answer it.
 */
export async function questionsOf(account: AccountStore): Promise<Question[]> {
  const { userId, role } = callingUser(account.actor)
  return allows(role, 'use') ? await account.read.questions.ofUser(userId, account.deps.now()) : []
}

/** Returns the number of waiting conversations, including those beyond `maxQuestions`. */
export function countQuestions(questions: readonly Question[]): number {
  return questions[0]?.total ?? 0
}

/** Dismisses the questions to the calling user up to a message. Fails with `conversation_not_found`. */
export async function dismissQuestion(account: AccountStore, threadId: number, upTo: number): Promise<void> {
  const { userId } = callingUser(account.actor)
  requirePermission(account.actor, 'use')
  if (!await findThread(account, threadId)) throw unknownConversation()
  await account.write([account.change.questions.dismiss(userId, threadId, upTo)])
}
