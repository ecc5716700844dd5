import { attentionExitCode } from '../command.ts'

/** A finding of a doctor's check. The doctors of the grid and of the clients use this type. */
export interface Finding<Check extends string = CheckName> {
  check: Check
  /** `skipped`: the check is impossible or not applicable. */
  status: 'ok' | 'warning' | 'broken' | 'skipped'
  found: string
  /** The remedy; null if none is needed. */
  action: string | null
}

/** The checks in report order. A check may produce several findings. */
const checkNames = [
  'settings',
  'addresses',
  'files',
  'disk',
  'database',
  'durability',
  'key_ring',
  'clock',
  'conversations',
  'server',
  'email',
  'backups',
] as const

type CheckName = (typeof checkNames)[number]

export function inOrder(findings: readonly Finding[]): Finding[] {
  return findings.toSorted((a, b) => checkNames.indexOf(a.check) - checkNames.indexOf(b.check))
}

export function ok<Check extends string>(check: Check, found: string): Finding<Check> {
  return { check, status: 'ok', found, action: null }
}

export function warning<Check extends string>(check: Check, found: string, action: string): Finding<Check> {
  return { check, status: 'warning', found, action }
}

export function broken<Check extends string>(check: Check, found: string, action: string): Finding<Check> {
  return { check, status: 'broken', found, action }
}

/** The finding of a check that is impossible. `action` says how to make it possible. */
export function skipped<Check extends string>(
  check: Check,
  found: string,
  action: string | null = null,
): Finding<Check> {
  return { check, status: 'skipped', found, action }
}

/** The worst status of the findings. */
export function statusOf(findings: readonly Finding<string>[]): 'well' | 'warning' | 'broken' {
  const has = (status: Finding['status']) => findings.some((found) => found.status === status)
  return has('broken') ? 'broken' : has('warning') ? 'warning' : 'well'
}

/** 0 if everything is healthy, 3 if there are warnings, 1 if something is broken. */
export const exitCodes = { well: 0, warning: attentionExitCode, broken: 1 }

/** The findings as text lines, with the remedy below each finding. */
export function findingLines(findings: readonly Finding<string>[]): string[] {
  const width = Math.max(...findings.map(({ check }) => check.length))
  return findings.flatMap(({ check, status, found, action }) => {
    const line = `${status.padEnd(8)} ${check.replace('_', ' ').padEnd(width)} ${found}`
    return action === null ? [line] : [line, `${' '.repeat(width + 10)}→ ${action}`]
  })
}

/** The last line of a report. */
export const conclusions = { warning: 'Nothing is broken, but see the warnings.', broken: 'Something is broken.' }
