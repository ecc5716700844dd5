/** Where the frame's links and forms lead. Pages are served at exactly these paths. */
export const paths = {
  home: '/',
  overview: '/overview',
  agents: '/agents',
  channels: '/channels',
  skills: '/skills',
  guardrails: '/guardrails',
  activity: '/activity',
  settings: '/settings',
  signIn: '/sign-in',
  /** POST with `csrf`. */
  signOut: '/sign-out',
  /** POST with `csrf` and `account`, the id of the one to go to. */
  switchAccount: '/switch-account',
} as const

/** The sections of the web application, in the order of the navigation. */
export const navItems = ['overview', 'agents', 'channels', 'skills', 'guardrails', 'activity', 'settings'] as const

export type NavItem = (typeof navItems)[number]
