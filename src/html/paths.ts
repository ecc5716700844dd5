import type { IconName } from './icons.tsx'

/** Pages outside accounts. */
export const paths = {
  home: '/',
  signIn: '/sign-in',
  newAccount: '/new-account',
  /** POST only, with `csrf`. */
  signOut: '/sign-out',
} as const

/** A section of the web application. `name` is its path below the account, and the name of its icon. */
export interface Section {
  name: IconName
  title: string
  /** The key that opens it after `g`. */
  key?: string
}

/** The sections of the core in the order of the navigation: conversations, agents and the account. */
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

/** The sections with those of features, each of which stands behind the section `after`. */
export function sectionsWith(added: readonly (Section & { after: string })[]): readonly (readonly Section[])[] {
  return groups.map((group) =>
    group.flatMap((section) => [section, ...added.filter(({ after }) => after === section.name)])
  )
}

/** The sections in the bar of narrow windows, which has the search too; the others are behind its last button. */
export const barSections: readonly string[] = ['home', 'conversations', 'attention']

/** The page that an account opens with. It redirects to its section Home. */
export function homePath(account: string): string {
  return `/accounts/${account}`
}

/** The page to write to an agent, a person or a channel: `to` is its name with `@` or `#`. */
export function writePath(account: string, to?: string): string {
  return `/accounts/${account}/write${to === undefined ? '' : `?${new URLSearchParams({ to })}`}`
}

/** The search of an account. */
export function searchPath(account: string): string {
  return `/accounts/${account}/search`
}

/** The path of a section. It contains the account id, so that two tabs can show two accounts. */
export function sectionPath(account: string, item: string): string {
  return `/accounts/${account}/${item}`
}
