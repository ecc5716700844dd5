/** Serves the URL for Slack's events, and posts messages from Slack to the grid. See docs/slack.md, "Slack". */
import { allows } from '../../auth/actor.ts'
import { GridError } from '../../errors.ts'
import type { Sender, SendInput } from '../../grid/message/outgoing-message.ts'
import { sendMessage } from '../../grid/messaging/send-message.ts'
import { temporary } from '../../grid/remote-agents/answers.ts'
import { addressOf } from '../../grid/remote-agents/find-remote.ts'
import { apiLimits } from '../../lib/http/body.ts'
import { printableLine } from '../../lib/redact.ts'
import { hashForLookup } from '../../lib/secrets.ts'
import { textOf } from '../../lib/text.ts'
import { second } from '../../lib/time.ts'
import type { Handler } from '../../request-context.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Store } from '../../store/store.ts'
import { callSlack, fromSlackText, isSignedBySlack } from './api.ts'
import { linkCodePattern } from './connect.ts'
import { type SlackChannel, slackLookUps, slackTables } from './store.ts'

/** The fields of an event that the grid uses. @see https://docs.slack.dev/apis/events-api */
interface SlackEvent {
  type?: string
  team_id?: string
  api_app_id?: string
  challenge?: string
  event?: {
    type?: string
    subtype?: string
    channel?: string
    user?: string
    text?: string
    ts?: string
    thread_ts?: string
    bot_id?: string
    app_id?: string
  }
}

/** Short, because Slack sends an event again unless it gets a response within 3 seconds. */
const nameTimeoutMs = 1.5 * second
/** The subtypes of messages from people. Others are edits, deletions, and Slack's own messages. */
const subtypes = [undefined, 'file_share', 'thread_broadcast', 'me_message']

/**
 * Responds with 200 once a message is on disk. Responds with 404 for an unknown channel, without reading the body, and
 * for unsigned events.
 */
export function slackEvents(store: Store): Handler {
  return async function slackEvents(c) {
    const request = c.req.raw
    const readBody = () => store.deps.bodies.readText(request, apiLimits)
    const answer = await takeSlackEvent(store, c.req.param('id')!, request.headers, readBody)
    return answer === undefined ? new Response(null, { status: 404 }) : new Response(answer)
  }
}

/**
 * Handles an event of the channel with this id. Resolves to the response for Slack once the event's message is on disk.
 * Resolves to undefined for an unknown channel, an invalid signature, or another workspace or app. Fails if Slack
 * should send the event again.
 */
async function takeSlackEvent(
  store: Store,
  id: string,
  headers: Headers,
  readBody: () => Promise<string>,
): Promise<string | undefined> {
  const owner = await store.feature(slackLookUps).accountOf(id)
  if (owner === undefined) return undefined
  const account = store.account(owner, { type: 'system', job: 'slack' })
  const slack = await account.feature(slackTables).read.byId(id)
  if (!slack) return undefined
  const body = await readBody()
  if (!isSignedBySlack(await account.open('slack_channels', id, slack), headers, body, store.deps.now())) {
    return undefined
  }
  const { type, challenge, event, team_id, api_app_id } = readEvent(body)
  if (type === 'url_verification') return textOf(challenge)
  if (!await isOfApp(account, slack, team_id, api_app_id)) return undefined
  if (type === 'event_callback' && event?.type === 'message') await takeMessage(store, account, owner, slack, event)
  return ''
}

/** Whether an event is from the channel's workspace and app. The first signed event may determine them. */
async function isOfApp(account: AccountStore, slack: SlackChannel, team?: unknown, app?: unknown): Promise<boolean> {
  if (typeof team !== 'string' || typeof app !== 'string') return false
  let { teamId, appId } = slack
  if (teamId === null || appId === null) {
    const [[known]] = await account.write([account.feature(slackTables).change.learn(slack.id, team, app)])
    teamId = textOf(known?.team_id)
    appId = textOf(known?.app_id)
  }
  return teamId === team && appId === app
}

function readEvent(body: string): SlackEvent {
  try {
    return Object(JSON.parse(body)) as SlackEvent
  } catch {
    throw new GridError('malformed_json', 'The body is not valid JSON.')
  }
}

async function takeMessage(
  store: Store,
  account: AccountStore,
  owner: string,
  slack: SlackChannel,
  { channel, user, text = '', ts, thread_ts, subtype, bot_id, app_id }: NonNullable<SlackEvent['event']>,
): Promise<void> {
  if (channel !== slack.slackChannel || !subtypes.includes(subtype)) return
  // Ignores posts by this grid and by other programs, because two mirrors would repeat each other's posts endlessly.
  if (bot_id || app_id || typeof user !== 'string' || user === slack.botUser || typeof ts !== 'string') return
  const { read, change } = account.feature(slackTables)
  if (await read.byTs(slack.id, ts)) return
  const code = linkCodePattern.exec(text)?.[0]
  if (code !== undefined) {
    await account.write(change.link(slack.id, user, hashForLookup(code), account.deps.now()))
    return
  }
  const said = fromSlackText(text).trim() || (subtype === 'file_share' ? '(a file in Slack)' : '')
  if (said === '') return
  const thread = thread_ts === undefined ? undefined : await read.byTs(slack.id, thread_ts)
  const place = { ts, threadTs: thread_ts ?? ts }
  const input: Omit<SendInput, 'text'> = {
    to: `#${slack.name}`,
    idempotencyKey: `slack:${slack.id}:${ts}`,
    // An event that Slack sends again is compared by its timestamp, because the author's name may have changed.
    request: ts,
    via: 'slack',
    ...(thread && { replyToMessageId: thread.messageId, conversationId: thread.conversationId ?? undefined }),
    concern: {
      plan: ({ message: { id } }) => ({
        statements: [change.addMessage(slack.id, { ...place, messageId: id })],
      }),
    },
  }
  const person = await read.person(slack.id, user)
  // Viewers may only read, in Slack as well.
  if (person && !allows(person.role, 'use')) return
  const { agentId: program, alias: ofProgram } = slack
  const { agentId, alias } = person ?? {}
  const sender = agentId && alias ? { agentId, alias, program } : { agentId: program, alias: ofProgram }
  // Anyone with the signing secret can send messages, so they count as written by a program, whatever their alias.
  const writer = store.account(owner, {
    type: 'agent',
    agentId: sender.agentId,
    alias: sender.alias,
    credentialId: `slack ${slack.id}`,
  })
  const whole = 'program' in sender ? said : `${await nameOf(account, slack, user)}: ${said}`
  await send(writer, sender, { ...input, text: whole })
}

/** Permanent failures are not reported to Slack, which would only send the event again. */
async function send(writer: AccountStore, sender: Sender, input: SendInput): Promise<void> {
  try {
    await sendMessage(writer, sender, input)
  } catch (error) {
    if (!(error instanceof GridError) || temporary.includes(error.code)) throw error
    // The author did not receive the message that this one replies to, so it is sent without the reference.
    if (error.code === 'message_not_found') {
      await send(writer, sender, { ...input, replyToMessageId: undefined })
    } else if (error.code !== 'idempotency_conflict') {
      writer.deps.log.warn('A message of Slack was refused', { code: error.code, account: writer.owner })
    }
  }
}

/** Returns a person's name in Slack, or their Slack id if the name cannot be fetched in time. */
async function nameOf(account: AccountStore, { agentId }: SlackChannel, user: string): Promise<string> {
  const row = await account.read.remoteAgents.byId(agentId)
  try {
    const address = await addressOf(account, agentId, row!)
    const { user: found } = await callSlack(account.deps.safeFetch, address, 'users.info', { user }, {
      timeoutMs: nameTimeoutMs,
    })
    const name = found?.profile?.display_name || found?.real_name || found?.name || user
    // Reduced to one line, so that a name cannot look like message text.
    return printableLine(name.replaceAll(':', ' '), 80) || user
  } catch {
    return user
  }
}
