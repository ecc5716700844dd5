/** Admin tools that list objects. See docs/protocol/mcp.md, "Tools of admins". */
import * as z from 'zod'
import type { Channel } from '../grid/channels/channels.ts'
import { listBytes, listGuardrails } from '../grid/guardrails/list-guardrails.ts'
import { listedProviders } from '../guardrails/providers.ts'
import { withoutInvisible } from '../lib/invisible-text.ts'
import { type PageSource, readPage } from '../lib/read-page.ts'
import { isoTime } from '../lib/time.ts'
import type { AccountStore } from '../store/account.ts'
import type { Agent } from '../store/account/agents.ts'
import { identifier } from '../lib/input.ts'
import { tool } from './tool.ts'

/** Agents or channels per call: the default and the maximum. */
const pageLimit = 10_000
const pageBytes = 1_000_000
const chunk = 500

const readOnly = { readOnlyHint: true, idempotentHint: true }
const noInput = z.strictObject({})
const cursor = identifier.optional().describe('next_cursor of the previous result, to get the next page')
const cursorInput = z.strictObject({ cursor })
const pageInput = z.strictObject({
  limit: z.int().min(1).max(pageLimit).optional().describe(`Maximum number of results; default ${pageLimit}`),
  cursor,
})
const pagingNote = 'A page holds at most 1 MB. If there are more results, it has next_cursor.'

/** Returns an agent as returned by admin tools. See docs/protocol/messages.md, "Agents". */
export function asAgent(agent: Agent): Record<string, unknown> {
  const { id, alias, type, visibility, accessPolicy, description, remoteUrl, createdAt } = agent
  return {
    id,
    alias: `@${alias}`,
    type,
    visibility,
    accessPolicy,
    description,
    remoteUrl,
    createdAt: isoTime(createdAt),
  }
}

/** Returns a channel as returned by admin tools. See docs/protocol/messages.md, "Channels". */
export function asChannel(channel: Channel): Record<string, unknown> {
  const { id, name, description, memberCount, externalIntegrationType, externalChannelName, createdAt } = channel
  return {
    id,
    name: `#${name}`,
    description,
    memberCount,
    externalIntegrationType,
    externalChannelName,
    createdAt: isoTime(createdAt),
  }
}

/** Declares a tool that lists one kind of object in the account, in pages with the total. */
function listing<Row>(
  what: string,
  description: string,
  input: typeof pageInput | typeof cursorInput,
  of: (read: AccountStore['read']) => { source: PageSource<Row, unknown>; total: () => Promise<number> },
) {
  return tool({
    name: `admin_list_${what}`,
    title: `List ${what}`,
    description: `${description} ${pagingNote}`,
    annotations: readOnly,
    input,
    listBytes: pageBytes,
    async run({ read }: AccountStore, { limit = pageLimit, cursor }: z.output<typeof pageInput>) {
      const { source, total } = of(read)
      const page = readPage(source, cursor, { entries: limit, bytes: pageBytes, chunk })
      const [{ entries, cursor: next }, count] = await Promise.all([page, total()])
      return { text: { [what]: entries, total: count, ...(next !== undefined && { next_cursor: next }) } }
    },
  })
}

const listAgents = listing(
  'agents',
  "List the account's agents by alias and their total, without deleted agents.",
  pageInput,
  ({ agents }) => ({
    source: { read: agents.page, keyOf: ({ alias }: Agent) => alias, entryOf: asAgent },
    total: agents.total,
  }),
)

const listChannels = listing(
  'channels',
  "List the account's channels by name and their total, without deleted channels.",
  pageInput,
  ({ channels }) => ({ source: { read: channels.page, keyOf: nameOf, entryOf: asChannel }, total: channels.total }),
)

const listSkills = listing(
  'skills',
  "List the account's skills, and how many agents have each.",
  cursorInput,
  ({ skills }) => ({
    source: { read: skills.withCounts, keyOf: nameOf, entryOf: asSkill },
    total: () => skills.searchTotal(''),
  }),
)

const listGuardrailsTool = tool({
  name: 'admin_list_guardrails',
  title: 'List guardrails',
  description:
    `List the account's guardrails with their provider, configuration and number of guarded agents. Attach them with admin_set_agent_guardrails. ${pagingNote}`,
  annotations: readOnly,
  input: cursorInput,
  listBytes,
  async run(account: AccountStore, { cursor }) {
    return { text: await listGuardrails(account, { cursor }) }
  },
})

const listProviders = tool({
  name: 'admin_list_guardrail_providers',
  title: 'List guardrail providers',
  description:
    'List the providers that a guardrail can use, with the JSON schema of their configuration. Create guardrails on the web or over REST.',
  annotations: readOnly,
  input: noInput,
  run: (_account: AccountStore) => Promise.resolve({ text: { providers: listedProviders } }),
})

export const adminReadTools = [listAgents, listChannels, listSkills, listGuardrailsTool, listProviders]

interface Named {
  name: string
}

/** Removes invisible characters, which names from older versions may contain. */
function asSkill<Skill extends Named>(skill: Skill): Skill {
  return { ...skill, name: withoutInvisible(skill.name) }
}

function nameOf({ name }: Named): string {
  return name
}
