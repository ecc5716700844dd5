/** A recipient's updates of its tasks. See docs/protocol/mcp.md, "update_task". */
import { callingAgent } from '../../auth/actor.ts'
import { GridError, invalidInput } from '../../errors.ts'
import { canonicalJson } from '../../lib/encoding.ts'
import { newId } from '../../lib/id.ts'
import { withoutInvisibleIn } from '../../lib/invisible-text.ts'
import { hasAtMost } from '../../lib/text.ts'
import { minute } from '../../lib/time.ts'
import type { AccountStore, TaskAppend } from '../../store/account.ts'
import type { ReviewedMessage } from '../../store/account/new-message.ts'
import type { HeldStep } from '../../store/account/new-held.ts'
import type { NewChunk, TaskChange } from '../../store/account/task-changes.ts'
import type { TaskRow } from '../../store/account/tasks.ts'
import { endHeldArtifact, endPart, heldBefore, joinPart } from './held-chunks.ts'
import { maxMessageLength, type Recipient, type Sender, type TaskStep } from '../message/outgoing-message.ts'
import { detailOf, hasUploads } from '../message/parts.ts'
import { countChunk, refuseBeyondQuotas } from '../message/quota.ts'
import { sendMessage } from '../messaging/send-message.ts'
import { answerOf } from '../send/answers.ts'
import { findRepeat, keyLifetimeMs, keyOf } from '../send/once.ts'
import { resolve } from '../send/resolve.ts'
import type { GivenPart, Part } from '../message/part.ts'
import { isTerminal, type Task, type TaskState } from './task.ts'
import { isBareText, textOf } from '../message/part.ts'
import { refuseEnded, refuseIfFull, showTask, taskNotFound } from './tasks.ts'

interface TaskUpdate {
  /** Exactly one of: the task's id, or the id of one of its messages that the caller received. */
  taskId?: string
  messageId?: string
  state?: TaskState
  text?: string
  parts?: GivenPart[]
  artifact?: { id: string; name?: string; append?: boolean; lastChunk?: boolean }
  /** Repeating an update with the same key changes nothing. See docs/delivery.md, "Idempotency keys". */
  idempotencyKey?: string
}

export const givenStates = ['working', 'input-required', 'auth-required', 'completed', 'failed', 'rejected'] as const

/** How many characters of an artifact's end are checked again with its next chunk. */
const maxEndLength = 1_000
const maxEvents = 10_000
/**
 * A recipient that repeats `working` within this time adds no event. After an hour without one, the client is notified.
 */
const sameStateMs = 30 * minute

const noText = 'This message has no text.'

/**
 * Changes a task whose recipient is the calling agent. Content without a state or an artifact is the answer and
 * completes the task. Appends without a key within a tenth of a second become one event. The call returns when the
 * update is on disk. A retry returns the current task.
 *
 * Fails with `task_not_found`, `unsupported_operation` (the task has ended), `payload_too_large`, `invalid_input`,
 * `idempotency_conflict`, or like `sendMessage`.
 */
export async function updateTask(account: AccountStore, given: TaskUpdate): Promise<Pick<Task, 'id' | 'status'>> {
  const update = withoutInvisibleIn(given)
  const task = await findReceived(account, update)
  const { state, text, artifact, idempotencyKey } = update
  const said = ['update_task', task.id, state, text, update.parts, artifact]
  const once = idempotencyKey === undefined ? undefined : { idempotencyKey, request: canonicalJson(said) }
  if (await isRepeat(account, once)) return await statusOf(account, task.id)
  refuseEnded(task)
  if (state === 'submitted') {
    throw invalidInput('A recipient cannot give a task this state.', 'state')
  }
  if (artifact?.id === '') throw invalidInput('The id of an artifact must not be empty.', 'artifact.id')
  const parts = [...(text ? [{ text }] : []), ...update.parts ?? []]
  const updating = { account, task, parts, once }
  if (!artifact && parts.length === 0 && state === undefined) {
    throw new GridError('invalid_input', 'An update needs a state, text, parts or an artifact.')
  }
  checkSize(updating, update)
  const isAppended = artifact?.append === true && state === undefined && idempotencyKey === undefined
  // From now on, the task's client gets the task instead of a message.
  if (task.mode === 'message') await showTask(account, task.id, 'recipient')
  // Pending appended content is stored first.
  if (!isAppended) await account.waiting.appends.flush(task.id)
  if (artifact) await putArtifact(updating, artifact, state)
  else if (parts.length > 0) await say(updating, state)
  else if (!await endHeldArtifact(account, task.id, state!)) await change(updating, { state: state! })
  return await statusOf(account, task.id)
}

/** Refuses an update that is too large. A full task can still be ended. */
function checkSize({ task, parts }: Updating, { state, artifact }: TaskUpdate): void {
  const ends = !artifact && (state === undefined || isTerminal(state))
  if (ends) return
  if (task.generation >= maxEvents) {
    throw new GridError('payload_too_large', `The task has reached its limit of ${maxEvents} events. End it.`)
  }
  if (artifact || parts.length > 0) refuseIfFull(task)
}

interface Updating {
  account: AccountStore
  task: TaskRow
  parts: GivenPart[]
  once?: Once
}

/** An update's key, and the content that a retry with the same key must match. */
interface Once {
  idempotencyKey: string
  request: string
}

/** Whether the update was stored before. Fails with `idempotency_conflict`, or like the guardrail that refused it. */
async function isRepeat(account: AccountStore, once: Once | undefined): Promise<boolean> {
  if (!once) return false
  const keyed = keyOf(once.idempotencyKey, () => once.request)
  return await findRepeat(account, callingAgent(account.actor), keyed) !== undefined
}

async function findReceived(account: AccountStore, { taskId, messageId }: TaskUpdate): Promise<TaskRow> {
  const { agentId } = callingAgent(account.actor)
  if ((taskId === undefined) === (messageId === undefined)) {
    throw invalidInput('Give either the task or a message of it.', 'task_id')
  }
  const id = taskId ?? (await account.read.inbox.received(agentId, messageId!))?.taskId ?? undefined
  const task = id === undefined ? undefined : await account.read.tasks.of('recipient', agentId, id)
  if (!task) throw taskNotFound(taskId ?? messageId!)
  return task
}

/** Sends content to the client as a message: the task's answer, a comment on a state, or a chunk to be checked. */
async function say({ account, task, parts, once }: Updating, state?: TaskState, chunk?: Chunk): Promise<void> {
  const sender = callingAgent(account.actor)
  const held = await heldBefore(account, task.id, chunk)
  if (held && chunk) {
    parts = joined(held.parts as Part[], parts as Part[])
    chunk = { ...chunk, append: held.chunk.append, name: chunk.name ?? held.chunk.name }
  }
  const step = saidStep(account, sender, task, { state, chunk })
  step.check = async () => refuseEnded(await findReceived(account, { taskId: task.id }))
  const isText = parts.length === 1 && parts.every(isBareText) && hasAtMost(textOf(parts), maxMessageLength)
  const artifact = chunk && { artifactId: chunk.artifactId, artifactName: chunk.name ?? undefined }
  await sendMessage(account, sender, {
    to: `@${task.clientAlias}`,
    text: textOf(parts) || noText,
    // The message's retention may have ended.
    replyToMessageId: (await account.read.inbox.received(sender.agentId, task.messageId))?.id,
    conversationId: task.conversationId,
    a2a: isText && !chunk
      ? undefined
      : { messageId: newId(), taskId: task.id, parts: isText ? undefined : parts, ...artifact },
    continues: chunk?.append
      ? await account.read.tasks.endOfArtifact(sender.agentId, task.id, chunk.artifactId, maxEndLength)
      : undefined,
    task: step,
    concern: held && {
      plan: ({ message }) => chunk ? joinPart(account, held, message) : endPart(account, held),
    },
    ...once,
  })
}

/** Returns how a message from the task's recipient changes the task. */
export function saidStep(
  account: AccountStore,
  sender: Sender,
  task: TaskRow,
  { state, chunk }: HeldStep,
): TaskStep {
  const { tasks } = account.change
  const changer = { end: 'recipient' as const, agent: sender.agentId }
  if (!chunk && (state === undefined || state === 'completed')) return answerOf(account, sender, task)
  return {
    taskId: task.id,
    // In mode `receipt`, the client may not follow the task, so its inbox also gets messages that need its attention.
    isInTaskAlone: chunk !== undefined || task.mode !== 'receipt' || state === 'working',
    later: { ...(state && { state }), ...(chunk && { chunk }) },
    open: (id) => tasks.requireOpen(changer, task.id, id),
    statements: (message) => {
      const { id, at } = message
      return [
        tasks.addMessage(changer, task.id, id, chunk ? 'result' : 'agent'),
        ...tasks.change(changer, { task: task.id, event: id, at, state: chunk ? null : state!, message: id }),
        ...(chunk
          ? [tasks.addChunk(changer, { ...reviewed(chunk, message), task: task.id, event: id, parts: null })]
          : []),
        ...(chunk && state ? tasks.change(changer, stateChange(task, `${id} ${state}`, at, state)) : []),
      ]
    },
  }
}

/** Returns a chunk as guardrails left it. If they masked the artifact's id, the chunk begins a different artifact. */
function reviewed(chunk: Chunk, message: ReviewedMessage): Chunk {
  const artifactId = String(detailOf(message, 'artifactId'))
  const name = chunk.name === null ? null : String(detailOf(message, 'artifactName'))
  return { ...chunk, artifactId, name, append: chunk.append && artifactId === chunk.artifactId }
}

type Chunk = Pick<NewChunk, 'artifactId' | 'append' | 'lastChunk' | 'name'>

async function putArtifact(
  updating: Updating,
  { id, name = undefined, append = false, lastChunk = false }: NonNullable<TaskUpdate['artifact']>,
  state: TaskState | undefined,
): Promise<void> {
  const { account, task, parts, once } = updating
  const chunk: Chunk = { artifactId: id, append, lastChunk, name: name ?? null }
  const sender = callingAgent(account.actor)
  const recipient = await resolve(account, sender, `@${task.clientAlias}`)
  // Guardrails check messages, so content to be checked becomes a message. Uploads belong to messages too.
  if (recipient.guards > 0 || hasUploads({ parts })) {
    return await account.waiting.checkedChunks.run(task.id, () => say(updating, state, chunk))
  }
  account.requireSpace()
  await refuseBeyondQuotas(account, recipient)
  if (append && state === undefined && !once) {
    const { appends } = account.waiting
    await appends.add(task.id, { artifactId: id, parts, lastChunk }, (added) => addAll(account, task, recipient, added))
  } else await change(updating, { state: state ?? null, recipient, chunks: [{ ...chunk, parts }] })
}

/** Stores content that was appended at about the same time, as one event for each artifact, up to its last chunk. */
async function addAll(
  account: AccountStore,
  task: TaskRow,
  recipient: Recipient,
  added: readonly TaskAppend[],
): Promise<void> {
  const chunks: (Chunk & { parts: Part[] })[] = []
  for (const { artifactId, parts, lastChunk } of added) {
    const last = chunks.at(-1)
    if (last?.artifactId === artifactId && !last.lastChunk) {
      last.parts = joined(last.parts, parts as Part[])
      last.lastChunk = lastChunk
    } else chunks.push({ artifactId, append: true, lastChunk, name: null, parts: [...parts as Part[]] })
  }
  await change({ account, task }, { state: null, recipient, chunks })
}

interface Changing {
  state: TaskState | null
  recipient?: Recipient
  chunks?: readonly (Chunk & { parts: readonly GivenPart[] })[]
}

async function change(
  { account, task, once }: Pick<Updating, 'account' | 'task' | 'once'>,
  changing: Changing,
): Promise<void> {
  const { agentId } = callingAgent(account.actor)
  const { state, recipient, chunks = [] } = changing
  const { tasks } = account.change
  const changer = { end: 'recipient' as const, agent: agentId }
  const at = account.deps.now()
  const events: TaskChange[] = []
  const statements = chunks.flatMap(({ parts, ...chunk }) => {
    const event = { task: task.id, event: newId(), at, state: null }
    events.push(event)
    const stored = { ...chunk, task: task.id, event: event.event, parts: JSON.stringify(parts) }
    const counted = recipient ? countChunk(account, recipient, stored) : []
    return [...tasks.change(changer, event), tasks.addChunk(changer, stored), ...counted]
  })
  if (state !== null) {
    const event = stateChange(task, newId(), at, state)
    events.push(event)
    statements.push(...tasks.change(changer, event))
  }
  const [first] = events
  const { key, requestHash } = keyOf(once?.idempotencyKey, () => once!.request)
  if (key !== null) {
    const keyed = { key, requestHash, at, keysSince: at - keyLifetimeMs }
    statements.unshift(tasks.requireNewKey(agentId, keyed))
    statements.push(tasks.addKey(agentId, task.id, first.event, keyed))
  }
  const rows = await account.write([...statements, tasks.outcome(changer, task.id, first.event)]).catch(
    async (error) => {
      // The same update was stored concurrently.
      if (!await isRepeat(account, once)) throw error
    },
  )
  if (!rows || rows.at(-1)!.length > 0) return
  refuseEnded(await findReceived(account, { taskId: task.id }))
}

/** Returns a change of state. Repeating `working` changes nothing, unless the agent has been silent. */
function stateChange(task: TaskRow, event: string, at: number, state: TaskState): TaskChange {
  const isNews = state !== 'working' || task.quiet === 1 || at - task.statusAt >= sameStateMs
  const from = isNews ? {} : { from: ['submitted', 'input-required', 'auth-required'] as const }
  return { task: task.id, event, at, state, ...from }
}

async function statusOf(account: AccountStore, id: string): Promise<Pick<Task, 'id' | 'status'>> {
  const { agentId } = callingAgent(account.actor)
  const row = await account.read.tasks.of('recipient', agentId, id)
  if (!row) throw taskNotFound(id)
  return { id, status: { state: row.state, at: row.statusAt } }
}

/** Concatenates parts. Adjacent texts are merged, because otherwise a chunk would need more space than its text. */
function joined(parts: Part[], more: readonly Part[]): Part[] {
  const [first, ...others] = more
  const last = parts.at(-1)
  if (!first || !last || !isBareText(first) || !isBareText(last)) return [...parts, ...more]
  const text = (last as { text: string }).text + (first as { text: string }).text
  return [...parts.slice(0, -1), { text }, ...others]
}
