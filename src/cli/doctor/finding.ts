export interface Finding {
  check: CheckName
  /** `skipped`: it could not be looked at. */
  status: 'ok' | 'warning' | 'broken' | 'skipped'
  found: string
  /** What to do; null if there is nothing to do. */
  action: string | null
}

/** A check may have several findings, with several faults. */
export type CheckName =
  | 'settings'
  | 'addresses'
  | 'files'
  | 'disk'
  | 'durability'
  | 'database'
  | 'server'
  | 'key_ring'
  | 'clock'
  | 'email'
  | 'backups'

export function ok(check: CheckName, found: string): Finding {
  return { check, status: 'ok', found, action: null }
}

export function warning(check: CheckName, found: string, action: string): Finding {
  return { check, status: 'warning', found, action }
}

export function broken(check: CheckName, found: string, action: string): Finding {
  return { check, status: 'broken', found, action }
}

/** It could not be looked at. `action` says how it can be. */
export function skipped(check: CheckName, found: string, action: string | null = null): Finding {
  return { check, status: 'skipped', found, action }
}
