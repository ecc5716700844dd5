/** Streams a task's events. See docs/protocol/a2a.md, "Streams". */
import { GridError } from '../errors.ts'
import { bareReply, endsStream } from '../grid/tasks/task.ts'
import type { TaskNews } from '../grid/tasks/watch-task.ts'
import { second } from '../lib/time.ts'
import { type Codec, type TaskRef, writeReply, writeSentTask } from './codec.ts'
import type { MethodCall, StreamItem } from './method-call.ts'

/** Some clients time out after 5 s of silence. */
export const heartbeatMs = 4 * second

/** Yields the items of `news` until the task ends. `first` is its first item, which has been read already. */
export async function* taskItems(
  { codec, account }: MethodCall,
  task: TaskRef,
  first: TaskNews | undefined,
  news: AsyncGenerator<TaskNews>,
  { isOfSend = false } = {},
): AsyncGenerator<StreamItem> {
  yield 'heartbeat'
  if (first !== undefined) yield itemOf(codec, task, first, isOfSend)
  // Releases the task, which the stream would otherwise keep in memory.
  first = undefined
  try {
    for await (const one of news) yield itemOf(codec, task, one, isOfSend)
  } catch (error) {
    // A failure after the first item ends the stream but not the task.
    if (!(error instanceof GridError)) account.deps.log.warn('A stream of a task ended because of a fault', { error })
  }
}

function itemOf(codec: Codec, task: TaskRef, news: TaskNews, isOfSend: boolean): StreamItem {
  if (news === 'heartbeat') return news
  if ('first' in news) {
    const reply = bareReply(news.first)
    if (reply) return { result: writeReply(task, reply, codec) }
    // The newest event's number is the id, so that a reconnecting client gets the later events.
    return { id: news.first.generation, result: writeSentTask(news.first, codec) }
  }
  const closes = news.type === 'status' && endsStream(news.status.state, isOfSend)
  return { id: news.n, result: codec.writeEvent(task, news, closes) }
}
