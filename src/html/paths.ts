/** Pages that belong to no account. */
export const paths = {
  home: '/',
  signIn: '/sign-in',
  newAccount: '/new-account',
  /** POST with `csrf`. */
  signOut: '/sign-out',
} as const

/** The sections of the web application, in the order of the navigation. */
export const navItems = ['overview', 'agents', 'channels', 'skills', 'guardrails', 'activity', 'settings'] as const

export type NavItem = (typeof navItems)[number]

/** Where a section of an account is. The account stands in the path, so that two tabs can show two accounts. */
export function sectionPath(account: string, item: NavItem): string {
  return item === 'overview' ? `/accounts/${account}` : `/accounts/${account}/${item}`
}
