/** Exports and imports accounts. See docs/operating/accounts.md, "Export and import", and docs/protocol/archive.md. */
import type { Feature } from '../../feature.ts'
import { archiveCommands } from './commands/asked.ts'
import { exportAccount, importAccount } from './commands/commands.ts'
import { exportPages, exportSubject, phrases } from './pages.tsx'

export const archives: Feature = {
  name: 'archives',
  web: { pages: exportPages, accountSubjects: [exportSubject], phrases },
  commands: [exportAccount, importAccount],
  serverCommands: archiveCommands,
}
