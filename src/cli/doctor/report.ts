/** What `agent-grid doctor` says. See docs/operations.md, "Doctor". */
import * as z from 'zod'
import { attentionExitCode } from '../command.ts'

/** What is looked at, in the order of the report. New ones may come, none goes. */
export const checkNames = [
  'settings',
  'addresses',
  'version',
  'runtime',
  'server',
  'database',
  'migrations',
  'file_system',
  'disk_space',
  'permissions',
  'durability',
  'clock',
  'key_ring',
  'integrity',
  'queue',
  'unread',
  'leases',
  'accounts',
  'email',
  'proxies',
  'backups',
] as const

export const finding = z.object({
  check: z.enum(checkNames),
  /** `skipped`: it could not be looked at. */
  status: z.enum(['ok', 'warning', 'broken', 'skipped']),
  /** A sentence for people. */
  found: z.string(),
  /** What to do; null if there is nothing to do. */
  action: z.string().nullable(),
})
export type Finding = z.output<typeof finding>

const accountSize = z.object({
  account_id: z.string(),
  name: z.string(),
  agents: z.number(),
  /** Those in the conversations of the account. */
  messages: z.number(),
  activity_rows: z.number(),
  /** What its messages added in the last days that are still counted, at most a week. */
  bytes_of_week: z.number(),
})
export type AccountSize = z.output<typeof accountSize>

export const doctorReport = z.object({
  /** The worst of the checks. */
  status: z.enum(['well', 'warning', 'broken']),
  version: z.string(),
  /** The path of the local file, or the host of a remote database; null if the settings are invalid. */
  database: z.string().nullable(),
  milliseconds: z.number(),
  checks: z.array(finding),
  /** The accounts with the most messages, at most 50; empty if the database could not be read. */
  accounts: z.array(accountSize),
})
export type DoctorReport = z.output<typeof doctorReport>

type CheckName = Finding['check']

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

/** Put the report together, with its checks in their order. */
export function reportOf(parts: Omit<DoctorReport, 'status'>): DoctorReport {
  const has = (status: Finding['status']) => parts.checks.some((found) => found.status === status)
  const place = ({ check }: Finding) => checkNames.indexOf(check)
  return {
    status: has('broken') ? 'broken' : has('warning') ? 'warning' : 'well',
    ...parts,
    checks: parts.checks.toSorted((a, b) => place(a) - place(b)),
  }
}

export function exitCodeOf({ status }: DoctorReport): number {
  return { well: 0, warning: attentionExitCode, broken: 1 }[status]
}

/** The report for people. */
export function describeReport({ version, database, checks, status, accounts }: DoctorReport): string {
  const width = Math.max(...checkNames.map((name) => name.length))
  const lines = checks.flatMap(({ check, status, found, action }) => {
    const line = `${status.padEnd(8)} ${check.replace('_', ' ').padEnd(width)} ${found}`
    return action === null ? [line] : [line, `${' '.repeat(width + 10)}→ ${action}`]
  })
  const sizes = accounts.slice(0, 5).map(({ name, agents, messages, bytes_of_week }) =>
    `  ${name}: ${counted(agents, 'agent')}, ${counted(messages, 'message')}, ${megabytes(bytes_of_week)} MB this week`
  )
  const count = (wanted: string) => checks.filter((found) => found.status === wanted).length
  const end = {
    well: 'The grid is well.',
    warning: `Nothing is broken. Warnings: ${count('warning')}.`,
    broken: `Broken: ${count('broken')}. Warnings: ${count('warning')}.`,
  }[status]
  return [
    `agent-grid ${version}${database === null ? '' : `, ${database}`}`,
    '',
    ...lines,
    ...(sizes.length === 0 ? [] : ['', 'The largest accounts:', ...sizes]),
    '',
    end,
  ].join('\n')
}

/** For example `1 row`, `2 rows`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/** Whole megabytes, at least 1 unless there is nothing. */
export function megabytes(bytes: number): number {
  return Math.ceil(bytes / 2 ** 20)
}
