/** Targets of the search box and Ctrl K: named entities, pages, settings and actions. */
import type { Permission } from '../../auth/actor.ts'
import { listThreads } from '../../grid/conversations/threads.ts'
import { sectionsWith, writePath } from '../../html/paths.ts'
import type { NamedThing } from '../../store/account/named-things.ts'
import { accountSubjects } from '../accounts/settings-account.tsx'
import { namesOf } from '../conversations/shown.ts'
import { settingsTabs } from '../settings.tsx'
import type { FixedPlace, Visit } from '../visit.ts'

export interface Place {
  name: string
  /** The kind shown in the list, such as `agent`, `page` or `action`. */
  kind: string
  href: string
}

const maxPlaces = 8
/**
 * Maximum number of names loaded. More names are loaded than shown, because they are ranked together with fixed places.
 */
const maxNames = 20
const maxAgentsToAct = 3

const fixedPlaces: readonly FixedPlace[] = [
  { name: 'Held messages', kind: 'page', path: 'held', words: 'approve approvals decisions' },
  { name: 'Approval rules', kind: 'page', path: 'approval-rules', words: 'hold decide people' },
  { name: 'Open tasks', kind: 'page', path: 'tasks?state=open' },
  { name: 'Failed tasks', kind: 'page', path: 'tasks?state=failed' },
  { name: 'Write a message', kind: 'action', path: 'write', words: 'send new', may: 'use' },
  { name: 'New agent', kind: 'action', path: 'new-agent', words: 'create add connect register', may: 'manage' },
  { name: 'New channel', kind: 'action', path: 'channels/new', words: 'create add', may: 'manage' },
  { name: 'New skill', kind: 'action', path: 'skills/new', words: 'create add', may: 'manage' },
  { name: 'New guardrail', kind: 'action', path: 'guardrails/new', words: 'create add', may: 'manage' },
  { name: 'New approval rule', kind: 'action', path: 'approval-rules/new', words: 'create add', may: 'manage' },
  { name: 'Invite', kind: 'action', path: 'settings/team#invitations', words: 'people member add', may: 'manage' },
  { name: 'Rotate a key', kind: 'action', path: 'agents', words: 'replace new agent', may: 'manage' },
  { name: 'What is broken', kind: 'page', path: 'attention?show=broken', words: 'stuck failing who is' },
  { name: 'Export activity', kind: 'action', path: 'activity', words: 'csv download log' },
]

/** Actions on an agent. A search finds an action by the action's name together with words that find the agent. */
const agentActions: { name: string; may: Permission; isRemote?: true; href(visit: Visit, alias: string): string }[] = [
  { name: 'Write to', may: 'use', href: ({ membership }, alias) => writePath(membership.id, `@${alias}`) },
  { name: 'Rotate key of', may: 'manage', href: ({ path }, alias) => path('agents', alias, 'key') },
  { name: 'Pause', may: 'manage', isRemote: true, href: ({ path }, alias) => path('agents', alias) },
]

/** Returns the places that match all words of a text. Exact names come first, then prefixes, then the rest. */
export async function findPlaces(visit: Visit, text: string): Promise<Place[]> {
  const [first, ...more] = text.toLowerCase().split(/\s+/).filter((word) => word !== '')
  if (first === undefined) return []
  const words = [first, ...more] as const
  const [talks, named, actions] = await Promise.all([
    conversationsOf(visit, words),
    namedPlaces(visit, [...words]),
    actionsOnAgents(visit, [...words]),
  ])
  const fixed = [...sectionPlaces(visit), ...fixedPlaces].flatMap((place) => {
    const rank = rankOf(words, place.name, place.words)
    return rank === undefined || !visit.may(place.may ?? 'view') ? [] : [{ rank, place: shown(visit, place) }]
  })
  // The sort is stable, so equal ranks keep this order.
  return [...talks, ...actions, ...named, ...fixed].sort((a, b) => a.rank - b.rank).slice(0, maxPlaces).map((
    { place },
  ) => place)
}

interface Ranked {
  rank: number
  place: Place
}

/** Rank of a match in text that is not shown, such as a description. */
const byMore = 5

/** Returns a name's rank: the sum over all words, each from 0 (complete name) to 4. Undefined if any does not match. */
function rankOf(words: readonly string[], name: string, more = ''): number | undefined {
  const title = name.toLowerCase()
  const bare = title.replace(/^[@#]/, '')
  let sum = 0
  for (const word of words) {
    if (title === word || bare === word) continue
    if (title.startsWith(word) || bare.startsWith(word)) sum += 1
    else if (title.includes(` ${word}`)) sum += 2
    else if (title.includes(word)) sum += 3
    else if (` ${more}`.includes(` ${word}`)) sum += 4
    else return undefined
  }
  return sum
}

/** Returns the navigation's sections, the settings tabs, and the account's subjects. */
function sectionPlaces(visit: Visit): FixedPlace[] {
  const sections = sectionsWith(visit.features.flatMap(({ section }) => section ?? [])).flat()
  return [
    ...sections.map(({ name, title }): FixedPlace => ({ name: title, kind: 'page', path: name })),
    ...settingsTabs(visit).map(({ name, title, words }): FixedPlace => (
      { name: `Settings, ${title}`, kind: 'setting', path: `settings/${name}`, words }
    )),
    ...accountSubjects(visit).map(({ title, path, ...place }): FixedPlace => (
      { name: title, kind: 'setting', path: `settings/account/${path}`, words: place.words, may: place.may }
    )),
  ]
}

const shown = ({ path }: Visit, place: FixedPlace): Place => ({ ...place, href: `${path()}/${place.path}` })

/** Finds a conversation by its two agents: `@plan @build` matches @planner and @builder. */
async function conversationsOf({ account, visitor, path, may }: Visit, words: readonly string[]): Promise<Ranked[]> {
  if (words.length !== 2 || !words.every((word) => /^@./.test(word))) return []
  const names = words.map((word) => word.slice(1))
  // Only owners and admins can open other people's conversations.
  const list = { userId: visitor.user.id, names, isOfUser: !may('manage') }
  const { threads } = await listThreads(account, list)
  return threads.filter(({ kind }) => kind === 'pair').map((thread) => {
    const ends = namesOf(thread)
    const isExact = words.every((word) => ends.includes(word))
    return {
      rank: isExact ? -2 : -1,
      place: {
        name: `Conversation of ${ends.join(' and ')}`,
        kind: 'conversation',
        href: path('conversations', String(thread.id)),
      },
    }
  })
}

async function namedPlaces(visit: Visit, words: [string, ...string[]]): Promise<Ranked[]> {
  const things = await visit.account.read.namedThings.search(words, maxNames)
  return things.filter(({ kind }) => kind !== 'member' || visit.may('manage')).map((thing) => ({
    rank: rankOf(words, thing.name) ?? byMore * words.length,
    place: { name: thing.name, kind: thing.kind, href: hrefOf(visit, thing) },
  }))
}

function hrefOf({ path }: Visit, { kind, ref }: NamedThing): string {
  switch (kind) {
    case 'channel':
      return path('channels', ref)
    case 'skill':
      return `${path('skills')}?${new URLSearchParams({ search: ref })}`
    case 'guardrail':
      return path('guardrails', ref)
    case 'rule':
      return path('approval-rules', ref)
    case 'member':
      return path('settings', 'team')
    case 'task':
      return path('messages', ref)
    default:
      return path('agents', ref)
  }
}

/** Finds actions on agents: `rotate res` matches rotating the key of @researcher. */
async function actionsOnAgents(visit: Visit, words: string[]): Promise<Ranked[]> {
  const meant = agentActions.filter(({ name, may }) =>
    visit.may(may) && words.some((word) => rankOf([word], name) !== undefined)
  )
  const [first, ...more] = words.filter((word) => !meant.some(({ name }) => rankOf([word], name) !== undefined))
  if (meant.length === 0 || first === undefined) return []
  const things = await visit.account.read.namedThings.search([first, ...more], maxNames)
  const agents = things.filter(({ kind }) => ['agent', 'remote agent', 'person'].includes(kind))
  return agents.slice(0, maxAgentsToAct).flatMap(({ kind, ref, name }) =>
    meant.filter(({ isRemote }) => !isRemote || kind === 'remote agent').map((action) => ({
      rank: rankOf([first, ...more], name) ?? byMore,
      place: { name: `${action.name} ${name}`, kind: 'action', href: action.href(visit, ref) },
    }))
  )
}
