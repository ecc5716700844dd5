/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { Notice, Time } from '../../html/components.tsx'
import type { PageDeps, Visit } from '../visit.ts'

/** Tells account managers that the last scheduled backup failed. Omits the reason, which may contain paths. */
export function FailedBackup(
  { visit, backups }: { visit: Visit; backups: PageDeps['store']['backups'] },
) {
  const { failed } = backups
  if (failed === undefined || !visit.may('manage')) return null
  return (
    <Notice kind='warning' title='The last backup failed'>
      The grid could not be backed up{' '}
      <Time at={failed.at} now={visit.account.deps.now()} />. Its operator finds the reason in the log of the server.
    </Notice>
  )
}
