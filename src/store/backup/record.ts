/** Noting a backup in a database that no server holds. */
import type { Client } from '@libsql/client'
import type { MadeBackup } from '../global/backups.ts'

/** What `BackupHistory` then says. A database whose schema is too old for it says nothing. */
export async function recordBackup(client: Client, made: MadeBackup): Promise<void> {
  await client.execute({
    sql: "INSERT INTO store_facts (key, value) VALUES ('backup', ?) ON CONFLICT DO UPDATE SET value = excluded.value",
    args: [JSON.stringify(made)],
  }).catch(() => {})
  await client.execute("DELETE FROM store_facts WHERE key = 'backup_failed'").catch(() => {})
}
