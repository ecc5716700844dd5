import type { IconName } from './icons.tsx'

/** Pages outside accounts. */
export const paths = {
  home: '/',
  signIn: '/sign-in',
  newAccount: '/new-account',
  /** Accepts only POST, with `csrf`. */
  signOut: '/sign-out',
} as const

/** A section of the web application. `name` is its path below the account and its icon's name. */
export interface Section {
  name: IconName
  title: string
  /** The key that opens the section after `g`. */
  key?: string
}

/** The core's sections in navigation order: conversations, agents and the account. */
const groups: readonly (readonly Section[])[] = [
  [
    { name: 'home', title: 'Home', key: 'h' },
    { name: 'conversations', title: 'Conversations', key: 'c' },
    { name: 'attention', title: 'Attention', key: 'a' },
    { name: 'tasks', title: 'Tasks' },
    { name: 'reservations', title: 'Reservations' },
  ],
  [
    { name: 'agents', title: 'Agents' },
    { name: 'channels', title: 'Channels' },
    { name: 'skills', title: 'Skills' },
    { name: 'guardrails', title: 'Guardrails' },
  ],
  [
    { name: 'activity', title: 'Activity' },
    { name: 'settings', title: 'Settings' },
  ],
]

/** Adds the features' sections. Each follows the section `after`. */
export function sectionsWith(added: readonly (Section & { after: string })[]): readonly (readonly Section[])[] {
  return groups.map((group) =>
    group.flatMap((section) => [section, ...added.filter(({ after }) => after === section.name)])
  )
}

/** The sections in the bottom bar of narrow windows. Its last button opens the others. */
export const barSections: readonly string[] = ['home', 'conversations', 'attention']

/** The account's start page. It redirects to the section Home. */
export function homePath(account: string): string {
  return `/accounts/${account}`
}

/** The page for writing to an agent, a person or a channel. `to` is its name with `@` or `#`. */
export function writePath(account: string, to?: string): string {
  return `/accounts/${account}/write${to === undefined ? '' : `?${new URLSearchParams({ to })}`}`
}

/** An account's search page. */
export function searchPath(account: string): string {
  return `/accounts/${account}/search`
}

/** Returns a section's path. The path contains the account id, so that two tabs can show two accounts. */
export function sectionPath(account: string, item: string): string {
  return `/accounts/${account}/${item}`
}
