/** The events of a task as a stream. See docs/protocol.md, "Task streams". */
import { GridError } from '../errors.ts'
import { bareReply, isInterrupted, isTerminal, type Task, type TaskEvent } from '../grid/tasks/task.ts'
import { answerFor } from '../grid/tasks/tasks.ts'
import { holdTask, type TaskNews, watchTask } from '../grid/tasks/watch-task.ts'
import { second } from '../lib/time.ts'
import type { Codec, TaskRef } from './codec.ts'
import type { MethodCall, StreamItem } from './method-call.ts'

/** Some clients give up after 5 s of silence. */
export const heartbeatMs = 4 * second

/**
 * A task that was just sent to, and what happens to it until it has ended or waits for its client; or the plain reply
 * alone, for which it waits at most `holdMs`. See docs/protocol.md, "Message replies".
 */
export async function* followTask(call: MethodCall, task: Task, holdMs: number): AsyncGenerator<StreamItem> {
  yield 'heartbeat'
  yield* untilFault(call, sentItems(call, task, holdMs))
}

async function* sentItems(call: MethodCall, task: Task, holdMs: number): AsyncGenerator<StreamItem> {
  const endsWhenInterrupted = true
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
  if (closesStream(task.status.state, endsWhenInterrupted)) return
  const { account, connection, check } = call
  const watch = { after: task.generation, endsWhenInterrupted, connection, check, heartbeatMs }
  yield* newsItems(call, task, watchTask(account, task.id, watch), endsWhenInterrupted)
}

/**
 * What happens to a task from now on, or after the event that the client has seen last. Without one, the task itself
 * comes first. Ends when the task has ended. `news` has begun: `first` is what it said first.
 */
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

/** What fails behind the first item ends the stream; the task is not touched. */
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

/** The news of a task as items. */
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

/** Its number is that of the newest event that is in it, so that a client that comes back gets those behind it. */
function firstItem(codec: Codec, task: Task): StreamItem {
  return { id: task.generation, result: codec.writeSentTask(task) }
}

function closesStream(state: Extract<TaskEvent, { type: 'status' }>['status']['state'], endsWhenInterrupted: boolean) {
  return isTerminal(state) || (endsWhenInterrupted && isInterrupted(state))
}

/** A task with at most so many of its newest messages; undefined for all. */
export function withHistory(task: Task, length: number | undefined): Task {
  if (length === undefined || task.history.length <= length) return task
  return { ...task, history: length === 0 ? [] : task.history.slice(-length) }
}
