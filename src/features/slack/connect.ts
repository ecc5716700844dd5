/** Mirrors a channel to Slack, and links people to their Slack users. See docs/slack.md, "Slack". */
import { callingUser, requireAdmin, requireConfirmed } from '../../auth/actor.ts'
import { GridError, invalidInput } from '../../errors.ts'
import { refuseTakenAlias, refuseTooManyAgents, requireAgentLimit } from '../../grid/agents/agents.ts'
import { endAgent } from '../../grid/agents/end-agent.ts'
import { authorize } from '../../grid/authorize.ts'
import { maxMembers } from '../../grid/channels/channels.ts'
import { sendMessage } from '../../grid/messaging/send-message.ts'
import { callingPersonAlias } from '../../grid/people/person-aliases.ts'
import { retryOnConflict } from '../../grid/retry-on-conflict.ts'
import { newId } from '../../lib/id.ts'
import { RemoteError } from '../../lib/outbound/remote-error.ts'
import { printableLine } from '../../lib/redact.ts'
import { hashForLookup, mintLinkToken } from '../../lib/secrets.ts'
import { hour } from '../../lib/time.ts'
import { RemoteRefusal } from '../../remote/refusal.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Statement } from '../../store/sql.ts'
import { callSlack, slackApi } from './api.ts'
import { slackTables } from './store.ts'

/** The URL to which Slack sends a mirrored channel's events. */
export function slackEventsPath(id: string): string {
  return `/api/v1/slack/${id}/events`
}

/** The pattern of the code that a person posts in Slack to prove their identity. */
export const linkCodePattern = /grid-link-[\w-]{20,100}/
const codeLifetimeMs = hour

/** A new mirror. `channel` is the channel's name on the grid, `name` its name in Slack. */
interface MadeMirror {
  id: string
  agentId: string
  alias: string
  channel: string
  name: string
}

interface SlackInput {
  /** The id of the channel on the grid, and the id of the channel in Slack. */
  channel: string
  slackChannel: string
  /** The bot's token. */
  token: string
  signingSecret: string
}

/**
 * Mirrors a channel to a Slack channel. An agent `@slack-<channel>` joins the channel. Call `notifyOfSlack` afterwards
 * to notify the members. Fails with `confirmation_required`, `channel_not_found`, `alias_taken`, or `invalid_input` if
 * Slack does not respond correctly.
 */
export async function connectSlack(account: AccountStore, input: SlackInput): Promise<MadeMirror> {
  const { actor, deps, change } = account
  requireAdmin(actor)
  await channelOf(account, input.channel)
  const slackChannel = input.slackChannel.trim()
  if (!/^[CG][A-Z0-9]{2,20}$/.test(slackChannel)) throw invalidInput('It looks like C0123456789.', 'slackChannel')
  if (!/^xoxb-[\w-]{5,200}$/.test(input.token)) throw invalidInput('A bot token begins with xoxb-.', 'token')
  if (!/^[\da-f]{32,64}$/.test(input.signingSecret)) {
    throw invalidInput('The signing secret has 32 digits and letters from a to f.', 'signingSecret')
  }
  requireConfirmed(actor, deps.now())
  const { botUser, teamId, name } = await examine(account, input.token, slackChannel)
  const [id, agentId] = [newId(), newId()]
  const [token, secret] = [
    await account.seal('agents', agentId, input.token),
    await account.seal('slack_channels', id, input.signingSecret),
  ]

  const made = await retryOnConflict(async () => {
    const channel = await channelOf(account, input.channel)
    const known = await account.feature(slackTables).read.ofChannel(channel.id)
    if (known && known.id !== id) throw invalidInput('The channel is already mirrored with Slack.', 'slackChannel')
    if (known) return { channel: channel.name, alias: known.alias }
    await refuseTooManyAgents(account)
    const alias = await freeAlias(account, channel.name, id)
    const at = deps.now()
    await account.write([
      change.channels.requireLive(channel.id),
      ...change.agents.add({
        ...{ id: agentId, alias, type: 'a2a', visibility: 'private', accessPolicy: 'auto_approve', createdAt: at },
        ...{ description: `Mirrors #${channel.name} with Slack.`, remoteUrl: slackApi, signupId: null },
        ...token,
      }),
      ...requireAgentLimit(account),
      // With this transport, every reply stays in the thread of the message that it replies to.
      change.remoteAgents.setTransport(agentId, 'slack'),
      change.channels.addMembers(channel.id, [agentId], at),
      change.channels.requireAtMost(channel.id, maxMembers),
      ...account.feature(slackTables).change.connect(
        { id, channelId: channel.id, agentId, slackChannel, botUser, teamId },
        secret,
        name,
        at,
      ),
    ])
    return { channel: channel.name, alias }
  })
  return { id, agentId, name, ...made }
}

async function channelOf({ read }: AccountStore, id: string) {
  const channel = await read.channels.byRef(id, '')
  if (!channel) throw new GridError('channel_not_found', 'This channel does not exist or was deleted.')
  return channel
}

/** Queries Slack for the bot's user, its workspace, and the channel's name. */
async function examine({ deps }: AccountStore, token: string, channel: string) {
  const address = { url: slackApi, token }
  const ask = async (method: string, query: Record<string, string>, field: string) => {
    try {
      return await callSlack(deps.safeFetch, address, method, query)
    } catch (error) {
      if (!(error instanceof RemoteError || error instanceof RemoteRefusal)) throw error
      const reason = error instanceof RemoteError ? error.answered?.shown : error.message
      throw invalidInput(reason ?? `Slack cannot be reached from here. ${(error as RemoteError).why}`, field)
    }
  }
  const { user_id: botUser, team_id: teamId = null } = await ask('auth.test', {}, 'token')
  const { channel: found } = await ask('conversations.info', { channel }, 'slackChannel')
  if (!botUser || !found?.name) throw invalidInput('Slack did not describe the bot or the channel.', 'slackChannel')
  if (found.is_member !== true) throw invalidInput('Invite the bot to the channel in Slack first.', 'slackChannel')
  return { botUser, teamId, name: `#${printableLine(String(found.name), 80)}` }
}

/** Adds a suffix if needed, because other accounts' channels with the same name may have taken the alias. */
async function freeAlias(account: AccountStore, channel: string, id: string): Promise<string> {
  const plain = `slack-${channel}`
  if (plain.length <= 32 && await account.read.directory.isAliasFree(plain)) return plain
  const alias = `${plain.slice(0, 25).replace(/-+$/, '')}-${id.slice(-6)}`
  await refuseTakenAlias(account, alias)
  return alias
}

/** Notifies a channel's members. This is not part of the recorded change, because mirroring has already started. */
export async function notifyOfSlack(account: AccountStore, made: MadeMirror): Promise<void> {
  const system: AccountStore = { ...account, actor: { type: 'system', job: 'slack' } }
  const text = `#${made.channel} is now mirrored with ${made.name} in Slack. People there read what is posted here.`
  try {
    await sendMessage(system, made, { to: `#${made.channel}`, text, idempotencyKey: `slack:${made.id}` })
  } catch (error) {
    system.deps.log.warn('The members of a channel were not notified of Slack', { error })
  }
}

/** Stops mirroring a channel, and deletes its agent. Messages are kept. */
export async function disconnectSlack(account: AccountStore, channel: string): Promise<void> {
  requireAdmin(account.actor)
  await retryOnConflict(async () => {
    const { id } = await channelOf(account, channel)
    const statements = await endMirror(account, id)
    if (statements.length > 0) await account.write(statements)
  })
}

/** Statements that delete the integration's agent. Empty if the channel is not mirrored. Messages are kept. */
export async function endMirror(account: AccountStore, channelId: string): Promise<Statement[]> {
  const { read, change } = account.feature(slackTables)
  const slack = await read.ofChannel(channelId)
  if (!slack) return []
  const { agentId: id, alias } = slack
  return [...await endAgent(account, { id, alias }, account.deps.now()), ...change.disconnect(channelId)]
}

/** Creates a link code for a user who may write in the channel. It works once, within an hour. */
export async function askToLinkSlack(account: AccountStore, channel: string): Promise<string> {
  const { precondition } = await authorize(account, 'use')
  await callingPersonAlias(account)
  const { read, change } = account.feature(slackTables)
  const slack = await read.ofChannel(channel)
  if (!slack) throw new GridError('not_found', 'The channel is not mirrored with Slack.')
  const code = `grid-link-${mintLinkToken().token}`
  const { userId } = callingUser(account.actor)
  const until = account.deps.now() + codeLifetimeMs
  await account.write([...precondition, change.askToLink(slack.id, userId, hashForLookup(code), until)])
  return code
}

/** Unlinks the calling user's Slack user. Messages from Slack then no longer have the calling user's alias. */
export async function unlinkSlack(account: AccountStore, channel: string): Promise<void> {
  const { precondition } = await authorize(account, 'use')
  const { read, change } = account.feature(slackTables)
  const slack = await read.ofChannel((await channelOf(account, channel)).id)
  if (!slack) return
  await account.write([...precondition, change.unlink(slack.id, callingUser(account.actor).userId)])
}
