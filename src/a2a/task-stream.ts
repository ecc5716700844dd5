/** The events of a task as a stream. See docs/protocol/a2a.md, "Streams". */
import { GridError } from '../errors.ts'
import { bareReply, isInterrupted, isTerminal, type TaskState } from '../grid/tasks/task.ts'
import type { TaskNews } from '../grid/tasks/watch-task.ts'
import { second } from '../lib/time.ts'
import type { Codec, TaskRef } from './codec.ts'
import type { MethodCall, StreamItem } from './method-call.ts'

/** Some clients give up after 5 s of silence. */
export const heartbeatMs = 4 * second

/** What `news` tells, until the task has ended. `first` is what it has already told. */
export async function* taskItems(
  call: MethodCall,
  task: TaskRef,
  first: TaskNews | undefined,
  news: AsyncGenerator<TaskNews>,
  { isOfSend = false } = {},
): AsyncGenerator<StreamItem> {
  yield 'heartbeat'
  if (first !== undefined) yield itemOf(call.codec, task, first, isOfSend)
  // Otherwise the stream would keep the task in memory.
  first = undefined
  yield* untilFault(call, newsItems(call.codec, task, news, isOfSend))
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
  codec: Codec,
  task: TaskRef,
  news: AsyncGenerator<TaskNews>,
  isOfSend: boolean,
): AsyncGenerator<StreamItem> {
  for await (const one of news) yield itemOf(codec, task, one, isOfSend)
}

function itemOf(codec: Codec, task: TaskRef, news: TaskNews, isOfSend: boolean): StreamItem {
  if (news === 'heartbeat') return news
  if ('first' in news) {
    const reply = bareReply(news.first)
    if (reply) return { result: codec.writeReply(task, reply) }
    // Its number is that of its newest event, so that a client that comes back gets what follows.
    return { id: news.first.generation, result: codec.writeSentTask(news.first) }
  }
  const closes = news.type === 'status' && closesStream(news.status.state, isOfSend)
  return { id: news.n, result: codec.writeEvent(task, news, closes) }
}

function closesStream(state: TaskState, isOfSend: boolean): boolean {
  return isTerminal(state) || (isOfSend && isInterrupted(state))
}
