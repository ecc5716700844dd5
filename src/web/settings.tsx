/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import type { Child } from 'hono/jsx'
import { Tabs } from '../html/components.tsx'
import { appPage } from '../html/layout.tsx'
import type { Visit } from './visit.ts'

export const settingsTabs = {
  profile: 'Profile',
  notifications: 'Notifications',
  security: 'Security',
  sessions: 'Sessions',
  account: 'Account',
  team: 'Team',
} as const

export type SettingsTab = keyof typeof settingsTabs

/** The path of a settings tab, or of an action on it. */
export function settingsPath(visit: Pick<Visit, 'path'>, tab: SettingsTab, ...action: string[]): string {
  return visit.path('settings', tab, ...action)
}

export function settingsPage(visit: Visit, current: SettingsTab, content: Child): Promise<Response> {
  const items = (Object.keys(settingsTabs) as SettingsTab[]).map((tab) => ({
    title: settingsTabs[tab],
    href: settingsPath(visit, tab),
    isCurrent: tab === current,
  }))
  return appPage(
    visit.frame('settings'),
    { title: 'Settings' },
    <div class='stack'>
      <Tabs label='Settings' items={items} />
      {content}
    </div>,
  )
}
