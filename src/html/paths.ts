/** Pages outside accounts. */
export const paths = {
  home: '/',
  signIn: '/sign-in',
  newAccount: '/new-account',
  /** POST only, with `csrf`. */
  signOut: '/sign-out',
} as const

/** The sections of the web application in the order of the navigation: what is said, who says it, and the account. */
export const navGroups = [
  ['home', 'conversations', 'attention', 'network', 'tasks'],
  ['agents', 'channels', 'skills', 'guardrails'],
  ['activity', 'settings'],
] as const

export type NavItem = (typeof navGroups)[number][number]

export const navItems: readonly NavItem[] = navGroups.flat()

/** The sections in the bar of narrow windows, which has the search too; the others are behind its last button. */
export const barItems: readonly NavItem[] = ['home', 'conversations', 'attention']

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
export function sectionPath(account: string, item: NavItem): string {
  return `/accounts/${account}/${item}`
}
