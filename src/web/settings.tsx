/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import type { Child } from 'hono/jsx'
import { BackLink, Tabs } from '../html/components.tsx'
import { appPage } from '../html/layout.tsx'
import type { Visit } from './visit.ts'

/** The core tabs. The search box also finds them by their `words`. */
const tabs = {
  profile: { title: 'Profile', words: 'name time zone colours theme dark keyboard email password alias' },
  security: { title: 'Security', words: 'second factor passkey totp authenticator recovery codes 2fa' },
  sessions: { title: 'Sessions', words: 'browsers sign out' },
  account: { title: 'Account', words: 'rename delete' },
  team: { title: 'Team', words: 'members people invitations roles' },
} as const

type SettingsTab = keyof typeof tabs

/** Returns the path of a core settings tab, or of an action on it. */
export function settingsPath(visit: Pick<Visit, 'path'>, tab: SettingsTab, ...action: string[]): string {
  return visit.path('settings', tab, ...action)
}

/** Returns all tabs in display order. The features' tabs come after the first one. */
export function settingsTabs({ path, features }: Pick<Visit, 'path' | 'features'>) {
  const [first, ...others] = Object.entries(tabs).map(([name, tab]) => ({ name, ...tab }))
  const added = features.flatMap(({ settingsTab }) => settingsTab ?? [])
  return [first, ...added, ...others].map((tab) => ({ ...tab, href: path('settings', tab.name) }))
}

/** Renders a settings page. `subject` is the title of a page below a core tab, which links back to the tab. */
export function settingsPage(visit: Visit, current: string, content: Child, subject?: string): Promise<Response> {
  const items = settingsTabs(visit).map(({ name, ...tab }) => ({ ...tab, isCurrent: name === current }))
  return appPage(
    visit.frame('settings'),
    { title: subject ?? 'Settings', heading: 'Settings' },
    <div class='stack settings'>
      <Tabs label='Settings' items={items} />
      {subject && items.filter(({ isCurrent }) => isCurrent).map((tab) => <BackLink {...tab} />)}
      {content}
    </div>,
  )
}
