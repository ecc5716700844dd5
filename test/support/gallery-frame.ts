/** Shared by the gallery pages: the time, the user and the account. */
import type { AppFrame } from '../../src/html/frame.tsx'

export const now = Date.parse('2026-11-21T15:24:00Z')
export const minute = 60_000
export const csrf = 'token-of-the-session'

export const frame: AppFrame = {
  account: { id: 'a1', name: 'Acme Robotics', role: 'owner' },
  accounts: [
    { id: 'a1', name: 'Acme Robotics', role: 'owner' },
    { id: 'a2', name: 'Ann at home', role: 'admin' },
    { id: 'a3', name: 'The Very Long Name of an International Consortium', role: 'viewer' },
  ],
  user: { name: 'Ann Example', email: 'ann@acme.example', shortcuts: true },
  csrf,
  current: 'overview',
}
