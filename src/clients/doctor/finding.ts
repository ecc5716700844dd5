/** What the doctor of the client programs says. See docs/runners.md, "Doctor". */

/** What is looked at for each connection, in the order of the report. New ones may come, none goes. */
export const clientChecks = [
  'files',
  'program',
  'client',
  'hooks',
  'grid',
  'key',
  'version',
  'clock',
  'waiter',
] as const
export type ClientCheck = (typeof clientChecks)[number]

export interface ClientFinding {
  check: ClientCheck
  /** `skipped`: it could not be looked at, or does not apply. */
  status: 'ok' | 'warning' | 'broken' | 'skipped'
  /** A sentence for people. */
  found: string
  /** What to do; null if there is nothing to do. */
  action: string | null
}

export const ok = (check: ClientCheck, found: string): ClientFinding => ({ check, status: 'ok', found, action: null })
export const skipped = (check: ClientCheck, found: string): ClientFinding => (
  { check, status: 'skipped', found, action: null }
)
export const warning = (check: ClientCheck, found: string, action: string): ClientFinding => (
  { check, status: 'warning', found, action }
)
export const broken = (check: ClientCheck, found: string, action: string): ClientFinding => (
  { check, status: 'broken', found, action }
)
