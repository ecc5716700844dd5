/** Pages outside accounts. */
export const paths = {
  home: '/',
  signIn: '/sign-in',
  newAccount: '/new-account',
  /** POST only, with `csrf`. */
  signOut: '/sign-out',
} as const

/** The sections of the web application in navigation order. */
export const navItems = ['overview', 'agents', 'channels', 'skills', 'guardrails', 'activity', 'settings'] as const

export type NavItem = (typeof navItems)[number]

/** The sections in the bar of narrow windows; the others are behind its last button. */
export const barItems: readonly NavItem[] = ['overview', 'agents', 'channels', 'activity']

/** The path of a section. It contains the account id, so that two tabs can show two accounts. */
export function sectionPath(account: string, item: NavItem): string {
  return item === 'overview' ? `/accounts/${account}` : `/accounts/${account}/${item}`
}
