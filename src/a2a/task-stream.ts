/** The events of a task as a stream. See docs/protocol/a2a.md, "Streams". */
import { GridError } from '../errors.ts'
import { bareReply, isInterrupted, isTerminal, type Task, type TaskState } from '../grid/tasks/task.ts'
import { answerFor } from '../grid/tasks/tasks.ts'
import { holdTask, type TaskNews, watchTask } from '../grid/tasks/watch-task.ts'
import { second } from '../lib/time.ts'
import type { Codec, TaskRef } from './codec.ts'
import type { MethodCall, StreamItem } from './method-call.ts'

/** Some clients give up after 5 s of silence. */
export const heartbeatMs = 4 * second

/**
 * The task of a send and its events, until it has ended or waits for its client; or the plain reply alone, if it comes
 * within `holdMs`. See docs/protocol/a2a.md, "Message replies".
 */
export async function* followTask(call: MethodCall, task: Task, holdMs: number): AsyncGenerator<StreamItem> {
  yield 'heartbeat'
  yield* untilFault(call, sentItems(call, task, holdMs))
}

async function* sentItems(call: MethodCall, task: Task, holdMs: number): AsyncGenerator<StreamItem> {
  if (task.mode === 'message') {
    const { account, connection, check } = call
    if (!isTerminal(task.status.state)) {
      yield* holdTask(account, task.id, { ms: holdMs, heartbeatMs, connection, check })
    }
    if (connection.signal.aborted) return
    const answer = await answerFor(account, task)
    const reply = bareReply(answer)
    if (reply) return yield { result: call.codec.writeReply(answer, reply) }
  }
  yield firstItem(call.codec, task)
  if (closesStream(task.status.state, true)) return
  const { account, connection, check } = call
  const watch = { after: task.generation, endsWhenInterrupted: true, connection, check, heartbeatMs }
  yield* newsItems(call, task, watchTask(account, task.id, watch), true)
}

/** The events of a task until it has ended. `first` is what `news` has already said. */
export async function* subscribedItems(
  call: MethodCall,
  task: TaskRef,
  first: TaskNews | undefined,
  news: AsyncGenerator<TaskNews>,
): AsyncGenerator<StreamItem> {
  yield 'heartbeat'
  if (first !== undefined) yield itemOf(call.codec, task, first, false)
  yield* untilFault(call, newsItems(call, task, news, false))
}

/** A failure after the first item ends the stream, but not the task. */
async function* untilFault(
  { account }: MethodCall,
  items: AsyncGenerator<StreamItem>,
): AsyncGenerator<StreamItem> {
  try {
    yield* items
  } catch (error) {
    if (!(error instanceof GridError)) account.deps.log.warn('A stream of a task ended because of a fault', { error })
  }
}

async function* newsItems(
  { codec }: MethodCall,
  task: TaskRef,
  news: AsyncGenerator<TaskNews>,
  endsWhenInterrupted: boolean,
): AsyncGenerator<StreamItem> {
  for await (const one of news) yield itemOf(codec, task, one, endsWhenInterrupted)
}

function itemOf(codec: Codec, task: TaskRef, news: TaskNews, endsWhenInterrupted: boolean): StreamItem {
  if (news === 'heartbeat') return news
  if ('first' in news) return firstItem(codec, news.first)
  const closes = news.type === 'status' && closesStream(news.status.state, endsWhenInterrupted)
  return { id: news.n, result: codec.writeEvent(task, news, closes) }
}

/** Its number is that of its newest event, so that a client that comes back gets what follows. */
function firstItem(codec: Codec, task: Task): StreamItem {
  return { id: task.generation, result: codec.writeSentTask(task) }
}

function closesStream(state: TaskState, endsWhenInterrupted: boolean): boolean {
  return isTerminal(state) || (endsWhenInterrupted && isInterrupted(state))
}

/** With at most `length` of its newest messages; undefined for all. */
export function withHistory(task: Task, length: number | undefined): Task {
  if (length === undefined || task.history.length <= length) return task
  return { ...task, history: length === 0 ? [] : task.history.slice(-length) }
}
